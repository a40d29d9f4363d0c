use insn::x86::Insn;

use super::class::{Class, class};
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
    match class(insn) {
        Class::Nop
        | Class::Breakpoint
        | Class::PushFlags
        | Class::PopFlags
        | Class::Jump(_)
        | Class::ConditionalJump(..)
        | Class::Loop(..)
        | Class::Call(_)
        | Class::Return(_) => Plan::Emulate(Emulate { insn: *insn, pc }),
        Class::Copy | Class::Leave | Class::FarCall(_) | Class::Syscall | Class::Interrupt | Class::Transaction(_) => {
            Plan::Slot(Slot { insn: *insn, pc })
        }
        Class::Refused(reason) => Plan::Refuse(reason),
    }
}
