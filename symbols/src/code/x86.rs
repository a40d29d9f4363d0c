use ::insn::Flow;
use ::insn::x86::{Bits, Map, Mode, Reg};

use super::insn::{Insn, Step};

pub(super) fn step(bytes: &[u8], pc: u64, mode: Mode) -> Option<Step> {
    let insn = ::insn::x86::decode(bytes, mode).ok()?;
    let flow = insn.flow();
    let target = if flow == Flow::Next { None } else { insn.target_address(pc) };
    Some(Step { len: insn.len(), flow, target })
}

pub(super) fn decode(bytes: &[u8], pc: u64, mode: Mode) -> Option<Insn> {
    let insn = ::insn::x86::decode(bytes, mode).ok()?;
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let prefixes = insn.bytes().iter().take_while(|byte| is_prefix(byte)).count();
    let (flow, target) = (insn.flow(), insn.target_address(pc));
    Some(Insn { len: insn.len(), flow, target, prefixes, is_padding: is_padding(&insn) })
}

/// Whether an instruction is `nop` of any length, or the `lea` of a register's own value that assemblers use as `nop` in 32-bit code.
fn is_padding(insn: &::insn::x86::Insn) -> bool {
    match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0x90) => insn.writes().is_empty(),
        (Map::M0F, 0x1f) => true,
        (Map::OneByte, 0x8d) if insn.mode().bits == Bits::B32 && insn.address_size() == 4 => {
            let own = Some(Reg::gpr(insn.reg()));
            insn.memory().is_some_and(|at| at.base == own && at.index.is_none() && at.displacement == 0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_assemblers_put_between_functions_is_padding_and_what_does_something_is_not() {
        let is_padding = |bytes: &[u8], mode| super::decode(bytes, 0, mode).expect("an instruction").is_padding;
        for bytes in [&[0x90][..], &[0x66, 0x90], &[0x0f, 0x1f, 0], &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]] {
            assert!(is_padding(bytes, Mode::INTEL_64), "{bytes:x?}");
        }
        for bytes in [&[0x8d, 0x76, 0][..], &[0x8d, 0x74, 0x26, 0], &[0x2e, 0x8d, 0xb4, 0x26, 0, 0, 0, 0]] {
            assert!(is_padding(bytes, Mode::INTEL_32), "{bytes:x?}");
            assert!(!is_padding(bytes, Mode::INTEL_64), "{bytes:x?}");
        }
        // xchg rax, r8; lea esi, [esi+1]; lea ebx, [bx].
        assert!(!is_padding(&[0x49, 0x90], Mode::INTEL_64));
        assert!(!is_padding(&[0x8d, 0x76, 1], Mode::INTEL_32));
        assert!(!is_padding(&[0x67, 0x8d, 0x1f], Mode::INTEL_32));
    }
}
