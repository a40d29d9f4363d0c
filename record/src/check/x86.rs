//! Steps of x86.

use insn::x86::{Bits, Encoding, Insn, Map, Mode, Prefixes, Vendor, decode};
use insn::{Flow, Target};

use super::mismatch::Wrong;
use crate::item::{Next, Step};

/// What is wrong with a step, of which the code is known; `call` is the number of the system call that it makes.
pub(super) fn wrong(step: &Step, bits: Bits, vendor: Vendor, call: Option<u64>) -> Option<Wrong> {
    let mode = Mode::new(bits, vendor).lenient();
    let insn = match (decode(step.code.bytes(), mode), step.next) {
        (Ok(insn), _) => insn,
        // It may have faulted for just that.
        (Err(_), Next::Unfinished) => return None,
        (Err(error), _) => return Some(Wrong::Decode(error)),
    };
    match step.next {
        Next::Unfinished => None,
        Next::Unseen(next) if runs_with_next(&insn) => flow(&insn, step.pc, next, None),
        Next::Unseen(_) => Some(Wrong::Unseen),
        Next::At(next) => flow(&insn, step.pc, next, call),
    }
}

/// Whether it may be that the following instruction is executed in one step with this one: `mov ss` and `pop ss` hold the trap back
/// (SDM vol. 3A 6.8.3), and what Linux emulates for want of UMIP's privilege leaves no trap either.
fn runs_with_next(insn: &Insn) -> bool {
    if !matches!(insn.encoding(), Encoding::Legacy | Encoding::Rex2) {
        return false;
    }
    let extension = insn.modrm().map(|modrm| modrm >> 3 & 7);
    match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0x17) => true,
        (Map::OneByte, 0x8e) => extension == Some(2),
        // sldt, str; sgdt, sidt, smsw.
        (Map::M0F, 0x00) => matches!(extension, Some(0 | 1)),
        (Map::M0F, 0x01) => matches!(extension, Some(0 | 1 | 4)),
        _ => false,
    }
}

/// Whether an instruction that goes on with the next may stand still: a string instruction with a rep prefix.
fn may_stand_still(insn: &Insn) -> bool {
    let prefixes = insn.prefixes();
    (prefixes.has(Prefixes::REP) || prefixes.has(Prefixes::REPNE))
        && matches!((insn.map(), insn.opcode()), (Map::OneByte, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf) | (Map::M0F, 0xa7 | 0xa6))
}

fn flow(insn: &Insn, pc: u64, seen: u64, call: Option<u64>) -> Option<Wrong> {
    let wrap = |address: u64| match insn.mode().bits {
        Bits::B64 => address,
        Bits::B32 => address & 0xffff_ffff,
        Bits::B16 => address & 0xffff,
    };
    let next = wrap(pc.wrapping_add(insn.len() as u64));
    let target = insn.target_address(pc);
    let length = || (seen != next).then_some(Wrong::Length(next));
    match insn.flow() {
        Flow::Next if may_stand_still(insn) && seen == pc => None,
        Flow::Next | Flow::Trap | Flow::Privileged => length(),
        Flow::Jump | Flow::Call | Flow::Far => target.filter(|&target| target != seen).map(Wrong::Target),
        Flow::ConditionalJump | Flow::Transaction => match target {
            Some(target) if seen != next && seen != target => Some(Wrong::Condition { next, target }),
            None if insn.target() == Target::None => length(),
            _ => None,
        },
        Flow::Return => None,
        Flow::Syscall | Flow::Interrupt if call.is_some_and(|number| is_sigreturn(insn, number)) => None,
        Flow::Interrupt => length(),
        Flow::Syscall if insn.opcode() == 0x05 && insn.mode().bits == Bits::B64 => length(),
        // The vdso of 32-bit programs is left at a place of its own.
        Flow::Syscall => None,
        Flow::Faulting => Some(Wrong::Faulting),
        _ => None,
    }
}

/// Whether a system call goes where a signal frame says (arch/x86/entry/syscalls).
fn is_sigreturn(insn: &Insn, number: u64) -> bool {
    let of_64_bits = insn.flow() == Flow::Syscall && insn.mode().bits == Bits::B64;
    if of_64_bits { number & !0x4000_0000 == 15 || number == 0x4000_0201 } else { matches!(number, 119 | 173) }
}
