//! Disassembles instructions.

use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};
use insn::x86::{Bits, Mode, Vendor};
use yaxpeax_arch::{Decoder as _, U8Reader};

/// Disassembles x86 instructions in the syntax of Intel's manuals.
pub(crate) struct Disassembler {
    formatter: IntelFormatter,
    instruction: Instruction,
}

impl Disassembler {
    pub(crate) fn new() -> Disassembler {
        let mut formatter = IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_uppercase_hex(false);
        options.set_space_after_operand_separator(true);
        options.set_rip_relative_addresses(true);
        options.set_branch_leading_zeros(false);
        options.set_small_hex_numbers_in_decimal(false);
        options.set_displacement_leading_zeros(false);
        Disassembler { formatter, instruction: Instruction::default() }
    }

    /// Returns the text of the instruction that consists of all `bytes`. `None` if the disassembler does not know it.
    pub(crate) fn text(&mut self, bytes: &[u8], at: u64, mode: Mode) -> Option<String> {
        let mut decoder = Decoder::with_ip(bitness(mode), bytes, at, options(mode));
        decoder.decode_out(&mut self.instruction);
        if self.instruction.is_invalid() || self.instruction.len() != bytes.len() {
            return None;
        }
        let mut text = String::with_capacity(40);
        self.formatter.format(&self.instruction, &mut text);
        Some(text)
    }
}

fn bitness(mode: Mode) -> u32 {
    match mode.bits {
        Bits::B16 => 16,
        Bits::B32 => 32,
        Bits::B64 => 64,
    }
}

fn options(mode: Mode) -> u32 {
    let vendor = match mode.vendor {
        Vendor::Amd => DecoderOptions::AMD,
        Vendor::Intel => DecoderOptions::NONE,
    };
    let lenient = if mode.lenient { DecoderOptions::NO_INVALID_CHECK } else { DecoderOptions::NONE };
    vendor | lenient | DecoderOptions::MPX | DecoderOptions::UDBG
}

/// Returns the text of an A64 instruction. `None` if the disassembler does not know it.
pub(crate) fn arm64_text(word: u32) -> Option<String> {
    let decoder = yaxpeax_arm::armv8::a64::InstDecoder::default();
    decoder.decode(&mut U8Reader::new(&word.to_le_bytes())).ok().map(|instruction| instruction.to_string())
}

/// Returns the hexadecimal digits of a word as an assembler's data directive.
pub(crate) fn word_directive(digits: &str) -> String {
    format!(".word 0x{digits}")
}
