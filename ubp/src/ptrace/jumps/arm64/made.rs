//! A trampoline in a store.

use insn::arm64::LEN;
use trampoline::arm64::{self, Place};

/// A trampoline. It runs one instruction and counts its arrivals.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Trampoline(pub(super) arm64::Trampoline);

impl Trampoline {
    /// Its address.
    pub(in crate::ptrace) fn at(&self) -> u64 {
        self.0.at()
    }

    /// Bytes of its code.
    pub(in crate::ptrace) fn len(&self) -> usize {
        LEN * self.0.words().len()
    }

    /// Bytes of the instruction that it runs.
    pub(in crate::ptrace) fn run_len(&self) -> usize {
        LEN
    }

    /// Where a thread continues that comes to the instruction at an offset from the site.
    pub(in crate::ptrace) fn entry(&self, offset: u8) -> Option<u64> {
        (offset == 0).then(|| self.at())
    }

    /// Where a thread continues that is at this instruction and is counted.
    pub(in crate::ptrace) fn copy(&self, offset: u8) -> Option<u64> {
        (offset == 0).then(|| self.0.copy())
    }

    /// The offsets of the instructions before which the trampoline stops threads, and the addresses behind what stops them: there are none.
    pub(in crate::ptrace) fn stops(&self) -> impl Iterator<Item = (u8, u64)> + use<> {
        std::iter::empty()
    }

    /// The offset of the instruction before which the trampoline stopped a thread with this pc.
    pub(in crate::ptrace) fn stopped(&self, pc: u64) -> Option<u8> {
        self.stops().find(|(_, behind)| *behind == pc).map(|(offset, _)| offset)
    }

    pub(super) fn place(&self, offset: u16) -> Option<Place> {
        self.0.place(offset)
    }
}
