//! Instructions of a trace, as text.

use insn::x86::{Bits, Mode, decode};
use record::Machine;

use crate::disassembly::{Disassembler, arm64_text};

/// The bytes of the first of `bytes`, which lie at `pc`, and its text; all of them where it is no instruction.
pub(super) fn read<'a>(
    disassembler: &mut Disassembler,
    machine: Machine,
    bits: Option<Bits>,
    bytes: &'a [u8],
    pc: u64,
) -> Option<(&'a [u8], Option<String>)> {
    match machine {
        Machine::X86(vendor) => {
            let mode = Mode::new(bits?, vendor).lenient();
            let insn = decode(bytes, mode).ok()?;
            let bytes = bytes.get(..insn.len())?;
            Some((bytes, disassembler.text(bytes, pc, mode)))
        }
        Machine::Arm64 => {
            let bytes = bytes.first_chunk()?;
            let word = u32::from_le_bytes(*bytes);
            insn::arm64::decode(word).ok()?;
            Some((bytes, arm64_text(word)))
        }
    }
}
