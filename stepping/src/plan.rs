/// How to pass a breakpoint on one instruction. Each architecture has its own three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan<Emulate, Slot, Refusal> {
    /// Do what it does on the thread's registers and memory.
    Emulate(Emulate),
    /// Let the thread run a copy of it elsewhere.
    Slot(Slot),
    /// It cannot be done right; no breakpoint is set.
    Refuse(Refusal),
}
