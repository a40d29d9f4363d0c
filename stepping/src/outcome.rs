/// What an emulated instruction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Registers and memory are as after the instruction, the pc included.
    Done,
    /// The same, and the program had set the trap flag before: it is due its single-step trap (SIGTRAP, TRAP_TRACE).
    SingleStep,
    /// The instruction is the program's own breakpoint: the pc is where the program sees it (x86: behind it, arm64: at it), and the
    /// program is due its trap.
    Breakpoint,
    /// Nothing is done: the back end cannot set what the instruction would change (x86: `popf` and a flag that
    /// [`settable_flags`](crate::x86::Registers::settable_flags) leaves out). The thread is to run the plan's copy
    /// ([`Emulate::slot`](crate::x86::Emulate::slot)), whose code ends in a trap.
    Slot,
}
