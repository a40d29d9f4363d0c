//! The open calls of one process, by the stack and the stack pointer that each will return with.
//!
//! A thread number does not identify a stack: coroutines have stacks of their own and may move to another thread. The stack pointer after the
//! return does: no two open calls of a process have the same one, except a call and its tail calls. Where a runtime moves stacks, as Go's
//! does, a stack has a number of its own, and stack pointers are distances from its end.

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
    /// Where the calling call returns to, and its place among the tail calls there.
    parent: Option<(Frame, usize)>,
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
    chains: BTreeMap<Frame, Chain<T>>,
}

/// The frame of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    /// The number of a stack that may move; 0: the stack pointer tells.
    pub(super) stack: u64,
    /// The stack pointer after the return.
    pub(super) sp: u64,
}

/// Where a call will return.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The return address.
    pub(super) caller: u64,
    pub(super) frame: Frame,
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
        let parent = self.parent(tid, way.frame);
        let calling = parent.and_then(|parent| self.call(parent));
        let depth = calling.map_or(0, |call| call.depth + 1);
        let tag = tag(calling.map(|call| &call.tag));
        let (entered, held) = times;
        let open = Open { function, tag, depth, entered, held, inner: Duration::ZERO, parent };
        if self.chains.len() >= MOST && !self.chains.contains_key(&way.frame) {
            self.chains.pop_first();
        }
        let chain = self.chains.entry(way.frame).or_insert(Chain { caller: way.caller, tid, calls: Vec::new() });
        chain.tid = tid;
        chain.calls.push(open);
        depth
    }

    /// Forgets the calls that this one proves to be gone (longjmp, an exception): those with its stack pointer, except where it is a tail
    /// call. A function that is already open there is not taken for a tail call of itself.
    fn forget_abandoned(&mut self, function: u64, way: Way) {
        let Some(chain) = self.chains.get_mut(&way.frame) else { return };
        let open = chain.calls.iter().position(|call| call.function == function);
        let left = if chain.caller == way.caller { open.unwrap_or(chain.calls.len()) } else { 0 };
        chain.calls.truncate(left);
        if left == 0 {
            self.chains.remove(&way.frame);
        }
    }

    /// The innermost open call of a stack that is not inner to a frame. A stack without a number is that of its thread.
    fn parent(&self, tid: Tid, frame: Frame) -> Option<(Frame, usize)> {
        let last = Frame { sp: u64::MAX, ..frame };
        let mut outer = self.chains.range(frame..=last);
        let (frame, chain) = outer.find(|(_, chain)| frame.stack != 0 || chain.tid == tid)?;
        Some((*frame, chain.calls.len().checked_sub(1)?))
    }

    fn call(&self, (frame, number): (Frame, usize)) -> Option<&Open<T>> {
        self.chains.get(&frame)?.calls.get(number)
    }

    /// Removes the calls that have just returned, the innermost first. A function of i386 may pop its arguments.
    pub(super) fn leave(&mut self, way: Way, pops: bool) -> Vec<Open<T>> {
        let lowest = if pops { way.frame.sp.saturating_sub(MOST_POPPED) } else { way.frame.sp };
        let mut near = self.chains.range(Frame { sp: lowest, ..way.frame }..=way.frame).rev();
        let found = near.find(|(_, chain)| chain.caller == way.caller).map(|(frame, _)| *frame);
        let chain = found.and_then(|frame| self.chains.remove(&frame));
        chain.map(|chain| chain.calls.into_iter().rev().collect()).unwrap_or_default()
    }

    /// Adds to the inner time of the call that made this one. A tail call's caller has returned with it.
    pub(super) fn add_to_parent(&mut self, call: &Open<T>, inner: Duration, returned: &mut [Open<T>]) {
        let Some((frame, number)) = call.parent else { return };
        // `returned` has the rest of the same calls, the innermost first.
        let chain = self.chains.get_mut(&frame).and_then(|chain| chain.calls.get_mut(number));
        let parent = if returned.is_empty() { chain } else { returned.first_mut() };
        if let Some(parent) = parent {
            parent.inner += inner;
        }
    }

    /// Forgets the calls of a thread that ended, and returns their tags.
    pub(super) fn end(&mut self, tid: Tid) -> Vec<T> {
        let ended: Vec<Frame> = self.chains.iter().filter(|(_, chain)| chain.tid == tid).map(|(sp, _)| *sp).collect();
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

    fn at(caller: u64, sp: u64) -> Way {
        Way { caller, frame: Frame { stack: 0, sp } }
    }

    fn enter(frames: &mut Frames<u64>, tid: Tid, function: u64, caller: u64, sp: u64) -> usize {
        frames.enter(tid, function, at(caller, sp), (Duration::ZERO, Duration::ZERO), |_| function)
    }

    fn leave(frames: &mut Frames<u64>, caller: u64, sp: u64) -> Vec<u64> {
        frames.leave(at(caller, sp), false).into_iter().map(|call| call.function).collect()
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
    fn calls_of_a_stack_with_a_number_may_change_their_thread() {
        let mut frames = Frames::new();
        let way = |stack, sp| Way { caller: 70, frame: Frame { stack, sp } };
        let times = (Duration::ZERO, Duration::ZERO);
        assert_eq!(frames.enter(A, 1, way(9, 100), times, |_| 1), 0);
        assert_eq!(frames.enter(A, 1, way(8, 90), times, |_| 1), 0);
        assert_eq!(frames.enter(B, 2, way(9, 90), times, |_| 2), 1);
        assert_eq!(frames.leave(way(9, 90), false).len(), 1);
        assert_eq!(frames.leave(way(9, 100), false).len(), 1);
        assert_eq!(frames.leave(way(8, 100), false).len(), 0);
    }

    #[test]
    fn a_function_that_pops_its_arguments_returns() {
        let mut frames = Frames::new();
        enter(&mut frames, A, 1, 70, 100);
        assert_eq!(leave(&mut frames, 70, 108), []);
        let left = frames.leave(at(70, 108), true);
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn the_time_of_a_call_is_inner_time_of_its_caller() {
        let mut frames = Frames::new();
        enter(&mut frames, A, 1, 70, 100);
        enter(&mut frames, A, 2, 71, 90);
        let mut left = frames.leave(at(71, 90), false);
        let call = left.remove(0);
        frames.add_to_parent(&call, Duration::from_secs(3), &mut left);
        let left = frames.leave(at(70, 100), false);
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
