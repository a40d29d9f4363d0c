//! What a trampoline keeps, and where.
//!
//! The System V ABI lets code use the 128 bytes below the stack pointer (3.2.2). Everything below is lost at each signal, so that a trampoline
//! may write there.

use insn::x86::Reg;

/// The location of the arithmetic flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FlagsAt {
    /// In the flags, or in no place because no code needs them.
    Flags,
    /// In ah as `lahf` stores them, OF in bit 0 of al.
    Accumulator,
    /// In ah as `lahf` stores them, OF in the flags.
    AccumulatorButOverflow,
    /// On the stack, as `Accumulator` has them.
    Stack,
}

/// Bytes below the stack pointer that belong to the program.
pub(super) const RED_ZONE: u16 = 128;
/// Registers that actions use, with their numbers in the order of pushes. Flags are pushed last.
pub(super) const SCRATCH: [(u8, Reg); 4] = [(0, Reg::RAX), (1, Reg::RCX), (2, Reg::RDX), (3, Reg::RSI)];
/// The number of the flags in the order of pushes.
pub(super) const FLAGS: u8 = SCRATCH.len() as u8;

/// What is on the stack, as bits by the order of pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Saved(u8);

impl Saved {
    pub(super) const NONE: Saved = Saved(0);
    /// The most registers.
    pub(super) const MOST: usize = SCRATCH.len();

    pub(super) fn with(self, number: u8) -> Saved {
        Saved(self.0 | 1_u8.wrapping_shl(number.into()))
    }

    pub(super) fn without(self, number: u8) -> Saved {
        Saved(self.0 & !1_u8.wrapping_shl(number.into()))
    }

    fn has(self, number: u8) -> bool {
        self.0.wrapping_shr(number.into()) & 1 != 0
    }

    /// Position among what is pushed.
    fn slot(self, number: u8) -> Option<u16> {
        let before = self.0 & 1_u8.wrapping_shl(number.into()).wrapping_sub(1);
        self.has(number).then_some(before.count_ones() as u16)
    }

    /// The registers and their positions.
    pub(super) fn slots(self) -> impl Iterator<Item = (Reg, u16)> {
        SCRATCH.into_iter().filter_map(move |(number, register)| Some((register, self.slot(number)?)))
    }

    /// The position of the flags.
    pub(super) fn flags(self) -> Option<u16> {
        self.slot(FLAGS)
    }
}

/// The address of a position, given the program's stack pointer.
pub(super) fn address(pointer: u64, slot: u16) -> u64 {
    pointer.wrapping_sub(u64::from(RED_ZONE)).wrapping_sub(8).wrapping_sub(8 * u64::from(slot))
}
