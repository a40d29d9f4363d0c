//! The registers of an architecture that pass values, and what is left of them.

use crate::elf::Arch;
use crate::types::Language;
use crate::values::place::{At, Place};

/// The registers that pass values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    /// The general registers of arguments, by their numbers in debug information.
    pub(super) general: &'static [u16],
    /// The general registers of results.
    pub(super) results: &'static [u16],
    /// The number of vector registers.
    pub(super) vectors: u16,
    /// The distance of the first argument on the stack from the stack pointer at the first instruction.
    pub(super) stack: u64,
    pub(super) is_arm: bool,
}

/// System V ABI, AMD64 Architecture Processor Supplement, 3.2.3; the numbers are those of figure 3.36.
const X86_64: Machine = Machine { general: &[5, 4, 1, 2, 8, 9], results: &[0, 1], vectors: 8, stack: 8, is_arm: false };
/// Procedure Call Standard for the Arm 64-bit Architecture, 6.4 and 6.5.
const ARM64: Machine =
    Machine { general: &[0, 1, 2, 3, 4, 5, 6, 7], results: &[0, 1], vectors: 8, stack: 0, is_arm: true };
/// Go's src/cmd/compile/abi-internal.md.
const GO_X86_64: Machine = Machine {
    general: &[0, 3, 2, 5, 4, 8, 9, 10, 11],
    results: &[0, 3, 2, 5, 4, 8, 9, 10, 11],
    vectors: 15,
    stack: 8,
    is_arm: false,
};
const GO_ARM64: Machine = Machine {
    general: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    results: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    vectors: 16,
    stack: 8,
    is_arm: true,
};

impl Machine {
    pub(super) fn of(arch: Arch, language: Language) -> Option<&'static Machine> {
        match (arch, language) {
            (Arch::X86_64, Language::Go) => Some(&GO_X86_64),
            (Arch::X86_64, _) => Some(&X86_64),
            (Arch::Arm64, Language::Go) => Some(&GO_ARM64),
            (Arch::Arm64, _) => Some(&ARM64),
            (Arch::I386, _) => None,
        }
    }

    /// The place of a result in memory that the caller gave: x86 returns its address, arm64 does not.
    pub(super) fn returned_in_memory(&self) -> Option<Place> {
        let address = self.results.first().filter(|_| !self.is_arm)?;
        Some(Place::Pointed(At::General(*address)))
    }
}

/// The registers and the stack that are not taken yet.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    pub(super) machine: &'static Machine,
    general: usize,
    vector: u16,
    stack: u64,
}

impl Cursor {
    pub(super) fn new(machine: &'static Machine) -> Cursor {
        Cursor { machine, general: 0, vector: 0, stack: machine.stack }
    }

    /// The next general register.
    pub(super) fn general(&mut self) -> Option<At> {
        let register = self.machine.general.get(self.general)?;
        self.general += 1;
        Some(At::General(*register))
    }

    /// The next vector register.
    pub(super) fn vector(&mut self) -> Option<At> {
        let register = self.vector;
        (register < self.machine.vectors).then(|| {
            self.vector += 1;
            At::Vector(register)
        })
    }

    /// Takes all general registers: what follows lies on the stack.
    pub(super) fn end_general(&mut self) {
        self.general = self.machine.general.len();
    }

    pub(super) fn end_vectors(&mut self) {
        self.vector = self.machine.vectors;
    }

    /// Lets the next general register have an even number.
    pub(super) fn align_general(&mut self) {
        self.general += self.general % 2;
    }

    /// The next place on the stack, for `size` bytes.
    pub(super) fn stack(&mut self, size: u64, alignment: u64) -> Option<At> {
        let base = self.machine.stack;
        let start = (self.stack - base).checked_next_multiple_of(alignment.max(1))?.checked_add(base)?;
        self.stack = start.checked_add(size.checked_next_multiple_of(8)?)?;
        Some(At::Stack(start))
    }
}
