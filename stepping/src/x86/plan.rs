use insn::x86::Insn;

use super::class::{Class, class};
use super::{Emulate, Refusal, Slot};

/// How threads pass a breakpoint on an instruction of x86.
pub type Plan = crate::Plan<Emulate, Slot, Refusal>;

/// How threads pass a breakpoint on `insn` at the address `pc`.
///
/// ```
/// use insn::x86::{Mode, decode};
/// use stepping::x86::{Exit, Plan, Progress, plan};
///
/// // `mov 0x100(%rip), %rax` at 0x1000, with a slot at 0x2000.
/// let insn = decode(&[0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00], Mode::INTEL_64)?;
/// let Plan::Slot(slot) = plan(&insn, 0x1000) else { panic!("neither a branch nor refused") };
/// let code = slot.assemble(0x2000)?;
/// assert_eq!(code.exit, Exit::Jump);
/// assert_eq!(code.bytes[..7], [0x48, 0x8b, 0x05, 0x00, 0xf1, 0xff, 0xff]);
///
/// // A thread that stops after the copy is shown to be at 0x1007.
/// let place = code.original(7).expect("the end of the copy");
/// assert_eq!((place.pc, place.progress), (0x1007, Progress::After));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan(insn: &Insn, pc: u64) -> Plan {
    let class = class(insn);
    match class {
        Class::Nop
        | Class::Breakpoint
        | Class::PushFlags
        | Class::PopFlags
        | Class::Jump(_)
        | Class::ConditionalJump(..)
        | Class::Loop(..)
        | Class::Call(_)
        | Class::Return(_) => Plan::Emulate(Emulate { insn: *insn, class, pc }),
        Class::Copy
        | Class::TrapHeldOff
        | Class::StackSegment
        | Class::Leave
        | Class::FarCall(_)
        | Class::Syscall
        | Class::Interrupt
        | Class::Transaction(_) => Plan::Slot(Slot { insn: *insn, pc }),
        Class::Refused(reason) => Plan::Refuse(reason),
    }
}
