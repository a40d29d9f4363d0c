//! Memory as the program knows it: without breakpoint instructions.

use super::Space;
use crate::arch::{BREAKPOINT, Insn, MAX_LEN, decode};
use crate::ptrace::jumps::LENGTH;

/// A breakpoint instruction, or the program's bytes in its place.
pub(super) type Mark = [u8; BREAKPOINT.len()];

/// The part of an instruction that a breakpoint instruction replaces.
pub(super) fn mark(instruction: &[u8]) -> Option<Mark> {
    instruction.first_chunk().copied()
}

/// Puts the program's bytes in place of `ours` at `site`, in `buffer`, which was read at `address`.
fn restore(address: u64, buffer: &mut [u8], site: u64, ours: &[u8], original: &[u8]) {
    let before = address.saturating_sub(site) as usize;
    let (Some(ours), Some(original)) = (ours.get(before..), original.get(before..)) else { return };
    let place = buffer.get_mut(site.saturating_sub(address) as usize..).unwrap_or_default();
    let length = place.len().min(ours.len());
    let parts = (place.get_mut(..length), ours.get(..length), original.get(..length));
    let (Some(place), Some(ours), Some(original)) = parts else { return };
    // Other bytes are the program's: it wrote there, or mapped something else.
    if place == ours {
        place.copy_from_slice(original);
    }
}

impl Space {
    /// Whether a breakpoint instruction stands at `site`, or the jump that counts its arrivals does.
    pub(in crate::ptrace) fn is_armed(&self, site: u64) -> bool {
        self.has_ours(site) == Some(true)
    }

    /// Whether something else than our instruction stands at `site`. Where the memory cannot be read, that is not known.
    pub(in crate::ptrace) fn is_replaced(&self, site: u64) -> bool {
        self.has_ours(site) == Some(false)
    }

    /// Whether our instruction stands at `site`; `None` where the memory cannot be read.
    fn has_ours(&self, site: u64) -> Option<bool> {
        match self.jumps.of_member(site).filter(|jump| !jump.is_further(site)) {
            Some(jump) => self.memory.read_array(jump.site).map(|bytes| bytes == jump.bytes()),
            None => self.memory.read_array(site).map(|bytes| bytes == BREAKPOINT),
        }
    }

    /// Puts the program's bytes in place of ours in `buffer`, which was read at `address`.
    pub(in crate::ptrace) fn clean(&self, address: u64, buffer: &mut [u8]) {
        let end = address.saturating_add(buffer.len() as u64);
        for jump in self.jumps.touching(address..end, LENGTH) {
            restore(address, buffer, jump.site, &jump.bytes(), jump.original());
        }
        // A breakpoint instruction before the buffer may reach into it.
        for (&site, &slot) in self.sites.range(address.saturating_sub(BREAKPOINT.len() as u64 - 1)..end) {
            let Some(original) = self.entry(slot).and_then(|entry| mark(entry.bytes())) else { continue };
            restore(address, buffer, site, &BREAKPOINT, &original);
        }
    }

    /// The instruction at an address, which may lie in a slot.
    pub(in crate::ptrace) fn insn_at(&self, pc: u64) -> Option<Insn> {
        let mut code = [0; MAX_LEN];
        let read = self.read(pc, &mut code);
        decode(code.get(..read)?, self.mode).ok()
    }

    /// Reads memory as the program knows it, and returns the number of bytes.
    pub(in crate::ptrace) fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let count = self.memory.read(address, buffer);
        if let Some(part) = buffer.get_mut(..count) {
            self.clean(address, part);
        }
        count
    }
}
