use insn::arm64::Insn;

use super::class::{Class, class, decode};
use super::{Emulate, Refusal, Slot, exclusive};

/// How threads pass a breakpoint on an instruction of A64.
pub type Plan = crate::Plan<Emulate, Slot, Refusal>;

/// How threads pass a breakpoint on `insn` at the address `pc`, as far as the instruction alone decides. [`plan_in`] also considers the
/// code around it.
///
/// ```
/// use insn::arm64::decode;
/// use stepping::arm64::{Exit, Plan, Progress, plan};
///
/// // `add x0, x0, #1` at 0x1000, with a slot at 0x2000.
/// let insn = decode(0x9100_0400)?;
/// let Plan::Slot(slot) = plan(&insn, 0x1000) else { panic!("neither a branch nor refused") };
/// let code = slot.assemble(0x2000)?;
/// assert_eq!(code.exit, Exit::Jump);
///
/// // A thread that stops after the copy is shown to be at 0x1004.
/// let place = code.original(4).expect("the end of the copy");
/// assert_eq!((place.pc, place.progress), (0x1004, Progress::After));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan(insn: &Insn, pc: u64) -> Plan {
    let (insn, pc) = (*insn, pc);
    match class(&insn) {
        Class::Nop
        | Class::LandingPad
        | Class::Breakpoint
        | Class::Address(_)
        | Class::Literal(_)
        | Class::Jump(..)
        | Class::Call(_)
        | Class::JumpTo(_)
        | Class::CallTo(_)
        | Class::Return(_) => Plan::Emulate(Emulate { insn, pc }),
        Class::Copy
        | Class::Leave
        | Class::AuthenticatedCall
        | Class::VectorLiteral
        | Class::Prefix
        | Class::LoadExclusive
        | Class::MemoryMain
        | Class::MemoryEpilogue
        | Class::AuthenticateAt(_)
        | Class::ReturnAuthenticatedAt(_) => Plan::Slot(Slot { insn, pc }),
        Class::Refused(reason) => Plan::Refuse(reason),
    }
}

/// How threads pass a breakpoint on `insn`, which is the word `index` of `code`, at the address `pc`.
///
/// The function reads up to [`WINDOW`](super::WINDOW) words before and after the instruction; `code` may have fewer. `code` must be the
/// program's own, without breakpoint instructions.
///
/// ```
/// use insn::arm64::decode;
/// use stepping::arm64::{Plan, Refusal, plan_in};
///
/// // 0x1000: ldxr x1, [x0]; add x1, x1, #1; stxr w2, x1, [x0]; cbnz w2, 0x1000
/// let code = [0xc85f_7c01, 0x9100_0421, 0xc802_7c01, 0x35ff_ffa2];
/// let add = decode(code[1])?;
/// let refusal = Refusal::ExclusiveRegion { before: Some(0x1000), after: Some(0x100c) };
/// assert_eq!(plan_in(&add, 0x1004, &code, 1), Plan::Refuse(refusal));
/// # Ok::<(), insn::arm64::Error>(())
/// ```
pub fn plan_in(insn: &Insn, pc: u64, code: &[u32], index: usize) -> Plan {
    if let Some(refusal) = exclusive::refusal(code, index, pc) {
        return Plan::Refuse(refusal);
    }
    let before = index.checked_sub(1).and_then(|before| code.get(before)).and_then(|word| decode(*word));
    match before.map(|before| class(&before)) {
        Some(Class::Refused(Refusal::Modifier)) => Plan::Refuse(Refusal::Modified),
        _ => plan(insn, pc),
    }
}
