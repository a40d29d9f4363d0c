use insn::x86::Insn;

use super::{Emulate, Refusal, Slot};

/// How to pass a breakpoint on one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Plan {
    /// Do what it does on the thread's registers and memory.
    Emulate(Emulate),
    /// Let the thread run a copy of it elsewhere.
    Slot(Slot),
    /// It cannot be done right; no breakpoint is set.
    Refuse(Refusal),
}

/// Plans for `insn` at the address `pc`.
pub fn plan(insn: &Insn, pc: u64) -> Plan {
    let _ = (insn, pc);
    Plan::Refuse(Refusal::CodeSegment16)
}
