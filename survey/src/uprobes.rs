//! What the kernel's uprobes do with each instruction.

use std::collections::BTreeMap;

use insn::arm64;
use stepping::Uprobe as Told;
use ubp_symbols::code::Mode;

use crate::code::Code;
use crate::sweep::{Found, sweep};
use crate::words::words;

/// What uprobes do with the instructions of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uprobes {
    /// The number of all instructions.
    pub instructions: u64,
    /// The number of those that a uprobe passes.
    pub passed: u64,
    /// The numbers of those at which the kernel sets no uprobe, by reason.
    pub refused: BTreeMap<String, u64>,
    /// The numbers of those that do something else under a uprobe, by what differs.
    pub wrong: BTreeMap<String, u64>,
    /// The instructions that are refused or run wrong, in the order of the code.
    pub listed: Vec<Uprobe>,
}

/// An instruction that a uprobe does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uprobe {
    /// The instruction's address.
    pub address: u64,
    /// Its bytes in the order of memory.
    pub bytes: Box<[u8]>,
    /// Whether the kernel refuses it; otherwise the program does something else, or hits are miscounted.
    pub is_refused: bool,
    /// Why, or what differs.
    pub reason: String,
}

impl Uprobes {
    /// What uprobes do with all instructions of `code`.
    pub fn of(code: &Code<'_>) -> Uprobes {
        let mut found = Uprobes::default();
        for &(start, bytes) in code.pieces() {
            match code.mode() {
                Mode::X86(mode) => {
                    for (pc, what) in sweep(bytes, start, mode) {
                        let Found::Insn(insn) = what else { continue };
                        found.add(pc, insn.bytes(), stepping::x86::uprobe(&insn));
                    }
                }
                Mode::Arm64 => {
                    for (word, pc) in words(bytes).zip((start..).step_by(arm64::LEN)) {
                        let Ok(insn) = arm64::decode(word) else { continue };
                        found.add(pc, &word.to_le_bytes(), stepping::arm64::uprobe(&insn));
                    }
                }
            }
        }
        found
    }

    fn add<R: ToString, D: ToString>(&mut self, address: u64, bytes: &[u8], told: Told<R, D>) {
        self.instructions += 1;
        let (is_refused, reason) = match told {
            Told::Passed => return self.passed += 1,
            Told::Refused(reason) => (true, reason.to_string()),
            Told::Wrong(reason) => (false, reason.to_string()),
        };
        let reasons = if is_refused { &mut self.refused } else { &mut self.wrong };
        *reasons.entry(reason.clone()).or_default() += 1;
        self.listed.push(Uprobe { address, bytes: bytes.into(), is_refused, reason });
    }
}
