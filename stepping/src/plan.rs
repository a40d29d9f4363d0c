/// How threads pass a breakpoint on an instruction. Each architecture has its own types for the three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan<Emulate, Slot, Refusal> {
    /// Do what the instruction does on the thread's registers and memory.
    Emulate(Emulate),
    /// Let the thread run a copy of the instruction elsewhere.
    Slot(Slot),
    /// Set no breakpoint, because threads could not pass it correctly.
    Refuse(Refusal),
}
