/// The result of an emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The instruction is complete: registers, pc and memory are as after it.
    Done,
    /// The instruction is complete. The program had set the trap flag before, and must get its single-step trap (SIGTRAP, TRAP_TRACE).
    SingleStep,
    /// The instruction is the program's own breakpoint, and the program must get its trap. The pc is as in that trap: after the
    /// instruction on x86, at it on arm64.
    Breakpoint,
    /// Nothing was done, because the caller cannot set what the instruction would change (x86: a flag in `popf` that
    /// [`settable_flags`](crate::x86::Registers::settable_flags) leaves out). The thread must run the plan's copy
    /// ([`Emulate::slot`](crate::x86::Emulate::slot)), which ends in a trap.
    Slot,
}
