//! Follows the frames of a stack with the unwind information of two sections.

use framehop::{FrameAddress, Unwinder};

/// The unwind information of all modules, by section. `.eh_frame` describes code for exceptions; other code is described only for
/// debuggers.
pub(crate) struct Unwinders<U: Unwinder> {
    /// The unwinder for `.eh_frame`. It follows frame pointers in code without unwind information.
    pub(crate) by_exceptions: U,
    /// The unwinder for `.debug_frame`.
    pub(crate) by_debug: U,
    /// The caches of both unwinders.
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
    /// Returns a clone with empty caches.
    fn clone(&self) -> Unwinders<U> {
        let (by_exceptions, by_debug) = (self.by_exceptions.clone(), self.by_debug.clone());
        Unwinders { by_exceptions, by_debug, ..Unwinders::new() }
    }
}

impl<U: Unwinder> Unwinders<U>
where
    U::UnwindRegs: Clone,
{
    /// Adds the callers of the code at `address`, whose registers are `frame`, to `found` with their registers, until there are `depth`.
    ///
    /// `by_debug_alone` returns whether only `.debug_frame` describes the code at an address. `word` reads the stack.
    pub(crate) fn follow(
        &mut self,
        mut address: FrameAddress,
        mut frame: U::UnwindRegs,
        found: &mut Vec<(u64, U::UnwindRegs)>,
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
            found.push((caller.address(), frame.clone()));
            address = caller;
        }
    }
}
