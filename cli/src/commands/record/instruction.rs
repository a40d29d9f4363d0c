//! The text of recorded instructions.

use insn::x86::{Bits, Mode, decode};
use record::Machine;

use crate::disassembly::{Disassembler, arm64_text};

/// Decodes the instruction at the start of `bytes`, which are at the address `pc`. Returns its bytes, and its text if the disassembler
/// knows it. `None` if the bytes are no instruction.
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
