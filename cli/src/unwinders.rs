//! Follows the frames of a stack by the unwind information of two sections.

use framehop::{FrameAddress, Unwinder};

/// The unwind information of all modules, section by section: some code is described for exceptions, some only for debuggers.
pub(crate) struct Unwinders<U: Unwinder> {
    /// `.eh_frame`; also for code that nothing describes, of which frame pointers are followed.
    pub(crate) by_exceptions: U,
    /// `.debug_frame`.
    pub(crate) by_debug: U,
    /// What each of them learnt.
    caches: [U::Cache; 2],
}

impl<U: Unwinder + Default> Unwinders<U>
where
    U::Cache: Default,
{
    pub(crate) fn new() -> Unwinders<U> {
        Unwinders { by_exceptions: U::default(), by_debug: U::default(), caches: Default::default() }
    }
}

impl<U: Unwinder + Clone + Default> Clone for Unwinders<U>
where
    U::Cache: Default,
{
    /// A clone starts with nothing learnt.
    fn clone(&self) -> Unwinders<U> {
        let (by_exceptions, by_debug) = (self.by_exceptions.clone(), self.by_debug.clone());
        Unwinders { by_exceptions, by_debug, ..Unwinders::new() }
    }
}

impl<U: Unwinder> Unwinders<U> {
    /// Adds to `found` the callers of the code at `address`, whose registers are `frame`, until there are `depth`.
    ///
    /// `by_debug_alone` says whether only `.debug_frame` describes the code at an address; `word` reads the stack.
    pub(crate) fn follow(
        &mut self,
        mut address: FrameAddress,
        mut frame: U::UnwindRegs,
        found: &mut Vec<u64>,
        depth: usize,
        by_debug_alone: impl Fn(u64) -> bool,
        mut word: impl FnMut(u64) -> Result<u64, ()>,
    ) {
        let [by_exceptions, by_debug] = &mut self.caches;
        while found.len() < depth {
            let (unwinder, cache) = match by_debug_alone(address.address_for_lookup()) {
                true => (&self.by_debug, &mut *by_debug),
                false => (&self.by_exceptions, &mut *by_exceptions),
            };
            let next = unwinder.unwind_frame(address, &mut frame, cache, &mut word);
            let Some(caller) = next.ok().flatten().and_then(FrameAddress::from_return_address) else { break };
            found.push(caller.address());
            address = caller;
        }
    }
}
