//! The open calls of one process, by the stack pointer that each will return with.
//!
//! A thread number does not identify a stack: coroutines have stacks of their own and may move to another thread. The stack pointer after the
//! return does: no two open calls of a process have the same one, except a call and its tail calls.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Tid;

/// The largest number of stack pointers at which calls are open. The innermost call gives way to a new one.
const MOST: usize = 1 << 18;
/// The largest number of bytes of arguments that a return of i386 pops (`ret imm16`).
const MOST_POPPED: u64 = 0xffff;

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Open<T> {
    pub(super) function: u64,
    pub(super) tag: T,
    pub(super) depth: usize,
    /// The time of the entry.
    pub(super) entered: Duration,
    /// How long the thread had been held until then.
    pub(super) held: Duration,
    /// The time in calls that this one made.
    pub(super) inner: Duration,
    /// The stack pointer of the calling call, and its place among the tail calls there.
    parent: Option<(u64, usize)>,
}

/// A call with its tail calls, which all return at once.
#[derive(Clone, Debug)]
struct Chain<T> {
    /// The return address.
    caller: u64,
    /// The thread that entered the last of the calls.
    tid: Tid,
    calls: Vec<Open<T>>,
}

/// The open calls of one process.
#[derive(Clone, Debug)]
pub(super) struct Frames<T> {
    chains: BTreeMap<u64, Chain<T>>,
}

/// Where a call will return.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The return address.
    pub(super) caller: u64,
    /// The stack pointer after the return.
    pub(super) sp: u64,
}

impl<T> Frames<T> {
    pub(super) fn new() -> Frames<T> {
        Frames { chains: BTreeMap::new() }
    }

    /// Adds a call. `tag` makes its tag from that of the calling call. Returns the call's depth.
    pub(super) fn enter(
        &mut self,
        tid: Tid,
        function: u64,
        way: Way,
        times: (Duration, Duration),
        tag: impl FnOnce(Option<&T>) -> T,
    ) -> usize {
        self.forget_abandoned(function, way);
        let parent = self.parent(tid, way.sp);
        let calling = parent.and_then(|parent| self.call(parent));
        let depth = calling.map_or(0, |call| call.depth + 1);
        let tag = tag(calling.map(|call| &call.tag));
        let (entered, held) = times;
        let open = Open { function, tag, depth, entered, held, inner: Duration::ZERO, parent };
        if self.chains.len() >= MOST && !self.chains.contains_key(&way.sp) {
            self.chains.pop_first();
        }
        let chain = self.chains.entry(way.sp).or_insert(Chain { caller: way.caller, tid, calls: Vec::new() });
        chain.tid = tid;
        chain.calls.push(open);
        depth
    }

    /// Forgets the calls that this one proves to be gone (longjmp, an exception): those with its stack pointer, except where it is a tail
    /// call. A function that is already open there is not taken for a tail call of itself.
    fn forget_abandoned(&mut self, function: u64, way: Way) {
        let Some(chain) = self.chains.get_mut(&way.sp) else { return };
        let open = chain.calls.iter().position(|call| call.function == function);
        let left = if chain.caller == way.caller { open.unwrap_or(chain.calls.len()) } else { 0 };
        chain.calls.truncate(left);
        if left == 0 {
            self.chains.remove(&way.sp);
        }
    }

    /// The innermost open call of a thread that is not inner to `sp`.
    fn parent(&self, tid: Tid, sp: u64) -> Option<(u64, usize)> {
        let (sp, chain) = self.chains.range(sp..).find(|(_, chain)| chain.tid == tid)?;
        Some((*sp, chain.calls.len().checked_sub(1)?))
    }

    fn call(&self, (sp, number): (u64, usize)) -> Option<&Open<T>> {
        self.chains.get(&sp)?.calls.get(number)
    }

    /// Removes the calls that have just returned with a stack pointer to an address, the innermost first. A function of i386 may pop its
    /// arguments.
    pub(super) fn leave(&mut self, way: Way, pops: bool) -> Vec<Open<T>> {
        let lowest = if pops { way.sp.saturating_sub(MOST_POPPED) } else { way.sp };
        let mut near = self.chains.range(lowest..=way.sp).rev();
        let found = near.find(|(_, chain)| chain.caller == way.caller).map(|(sp, _)| *sp);
        let chain = found.and_then(|sp| self.chains.remove(&sp));
        chain.map(|chain| chain.calls.into_iter().rev().collect()).unwrap_or_default()
    }

    /// Adds to the inner time of the call that made this one. A tail call's caller has returned with it.
    pub(super) fn add_to_parent(&mut self, call: &Open<T>, inner: Duration, returned: &mut [Open<T>]) {
        let Some((sp, number)) = call.parent else { return };
        // `returned` has the rest of the same calls, the innermost first.
        let chain = self.chains.get_mut(&sp).and_then(|chain| chain.calls.get_mut(number));
        let parent = if returned.is_empty() { chain } else { returned.first_mut() };
        if let Some(parent) = parent {
            parent.inner += inner;
        }
    }

    /// Forgets the calls of a thread that ended, and returns their tags.
    pub(super) fn end(&mut self, tid: Tid) -> Vec<T> {
        let ended: Vec<u64> = self.chains.iter().filter(|(_, chain)| chain.tid == tid).map(|(sp, _)| *sp).collect();
        let chains = ended.into_iter().filter_map(|sp| self.chains.remove(&sp));
        chains.flat_map(|chain| chain.calls.into_iter().map(|call| call.tag)).collect()
    }

    /// The tags of all open calls, the outermost of each stack first.
    pub(super) fn into_tags(self) -> impl Iterator<Item = T> {
        self.chains.into_values().rev().flat_map(|chain| chain.calls.into_iter().map(|call| call.tag))
    }

    /// The calls of one thread, which alone goes on in a forked child as `child`.
    pub(super) fn fork(&self, tid: Tid, child: Tid) -> Frames<T>
    where
        T: Clone,
    {
        let of_thread = self.chains.iter().filter(|(_, chain)| chain.tid == tid);
        Frames { chains: of_thread.map(|(sp, chain)| (*sp, Chain { tid: child, ..chain.clone() })).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Tid = Tid(1);
    const B: Tid = Tid(2);

    fn enter(frames: &mut Frames<u64>, tid: Tid, function: u64, caller: u64, sp: u64) -> usize {
        frames.enter(tid, function, Way { caller, sp }, (Duration::ZERO, Duration::ZERO), |_| function)
    }

    fn leave(frames: &mut Frames<u64>, caller: u64, sp: u64) -> Vec<u64> {
        frames.leave(Way { caller, sp }, false).into_iter().map(|call| call.function).collect()
    }

    #[test]
    fn recursive_calls_return_the_innermost_first() {
        let mut frames = Frames::new();
        let depths = [100, 90, 80].map(|sp| enter(&mut frames, A, 7, 70, sp));
        assert_eq!(depths, [0, 1, 2]);
        assert_eq!([80, 90, 100].map(|sp| leave(&mut frames, 70, sp)), [[7], [7], [7]]);
        assert_eq!(leave(&mut frames, 70, 100), []);
    }

    #[test]
    fn a_tail_call_returns_with_its_caller() {
        let mut frames = Frames::new();
        assert_eq!(enter(&mut frames, A, 1, 70, 100), 0);
        assert_eq!(enter(&mut frames, A, 2, 70, 100), 1);
        assert_eq!(leave(&mut frames, 70, 100), [2, 1]);
    }

    #[test]
    fn a_call_that_was_left_by_a_jump_gives_way_to_the_next_one_there() {
        let mut frames = Frames::new();
        enter(&mut frames, A, 1, 70, 100);
        enter(&mut frames, A, 2, 71, 90);
        assert_eq!(enter(&mut frames, A, 1, 70, 100), 0, "the same call again");
        assert_eq!(leave(&mut frames, 70, 100), [1]);
        enter(&mut frames, A, 1, 70, 100);
        assert_eq!(enter(&mut frames, A, 3, 72, 100), 0, "a call from another place");
        assert_eq!(leave(&mut frames, 70, 100), []);
        assert_eq!(leave(&mut frames, 72, 100), [3]);
    }

    #[test]
    fn stacks_do_not_mix_and_may_change_their_thread() {
        let mut frames = Frames::new();
        assert_eq!(enter(&mut frames, A, 1, 70, 100), 0);
        assert_eq!(enter(&mut frames, B, 1, 70, 500), 0);
        assert_eq!(enter(&mut frames, B, 2, 71, 490), 1);
        assert_eq!(enter(&mut frames, A, 2, 71, 90), 1);
        assert_eq!(leave(&mut frames, 71, 490), [2]);
        assert_eq!(leave(&mut frames, 71, 90), [2]);
        assert_eq!(leave(&mut frames, 70, 500), [1]);
        assert_eq!(frames.end(A), [1]);
        assert_eq!(leave(&mut frames, 70, 100), []);
    }

    #[test]
    fn a_function_that_pops_its_arguments_returns() {
        let mut frames = Frames::new();
        enter(&mut frames, A, 1, 70, 100);
        assert_eq!(leave(&mut frames, 70, 108), []);
        let left = frames.leave(Way { caller: 70, sp: 108 }, true);
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn the_time_of_a_call_is_inner_time_of_its_caller() {
        let mut frames = Frames::new();
        enter(&mut frames, A, 1, 70, 100);
        enter(&mut frames, A, 2, 71, 90);
        let mut left = frames.leave(Way { caller: 71, sp: 90 }, false);
        let call = left.remove(0);
        frames.add_to_parent(&call, Duration::from_secs(3), &mut left);
        let left = frames.leave(Way { caller: 70, sp: 100 }, false);
        assert_eq!(left[0].inner, Duration::from_secs(3));
    }

    #[test]
    fn only_the_forking_thread_goes_on_in_the_child() {
        let mut frames = Frames::new();
        enter(&mut frames, A, 1, 70, 100);
        enter(&mut frames, B, 1, 70, 500);
        let mut child = frames.fork(A, Tid(3));
        assert_eq!(enter(&mut child, Tid(3), 2, 71, 90), 1);
        assert_eq!(leave(&mut child, 70, 500), []);
        assert_eq!(leave(&mut child, 70, 100), [1]);
    }
}
