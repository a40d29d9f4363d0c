//! Instructions in listings.

use ubp_symbols::code::Mode;

use crate::disassembly::{Disassembler, arm64_text};
use crate::hex;

/// Writes the instructions of a listing as its architecture's manuals do.
pub(super) struct Listing {
    mode: Mode,
    disassembler: Disassembler,
}

impl Listing {
    pub(super) fn new(mode: Mode) -> Listing {
        Listing { mode, disassembler: Disassembler::new() }
    }

    /// The digits of an instruction, and its text if the disassembler knows it.
    pub(super) fn instruction(&mut self, address: u64, bytes: &[u8]) -> (String, Option<String>) {
        match self.mode {
            Mode::X86(mode) => (hex::plain(bytes), self.disassembler.text(bytes, address, mode)),
            Mode::Arm64 => {
                let word = hex::words(bytes).next().unwrap_or_default();
                (hex::plain(&word.to_be_bytes()), arm64_text(word))
            }
        }
    }
}
