//! The page in the debuggee that handles `SIGTRAP` when the tracer is gone: its code, and the list of arenas for that code.

use super::Space;
use crate::Arch;

/// Code of one architecture for the page; offsets are those in the page.
pub(in crate::ptrace) struct HandlerCode {
    /// It begins with the handler.
    pub(in crate::ptrace) code: &'static [u8],
    /// The code that a handler returns to, where the kernel has none of its own.
    pub(in crate::ptrace) restorer: Option<u64>,
    /// A system call, and the way back to where the thread was; up to the end of the code.
    pub(in crate::ptrace) gate: Option<u64>,
    /// The number of `rt_sigaction`.
    pub(in crate::ptrace) sigaction: u64,
}

/// The offset of what the handler reads, as the code knows it: its own `struct sigaction`, that of the default action, and the
/// addresses of the arenas up to a zero.
pub(in crate::ptrace) const DATA: u64 = 2048;
pub(in crate::ptrace) const DEFAULT: u64 = 32;
const ARENAS: u64 = 64;
/// Bytes of the page that are in use.
pub(in crate::ptrace) const SIZE: u64 = 4096;
/// The largest number of arenas in the list.
const MOST: usize = ((SIZE - DATA - ARENAS) / 8 - 1) as usize;
/// asm/signal.h; the libc crate lacks it for some targets.
const SA_RESTORER: u64 = 0x0400_0000;
const FLAGS: u64 = (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART) as u64;

impl HandlerCode {
    /// The code of the gate.
    pub(in crate::ptrace) fn gate_code(&self) -> Option<&'static [u8]> {
        self.code.get(usize::try_from(self.gate?).ok()?..)
    }

    /// The page at `base`, up to the list of arenas.
    pub(in crate::ptrace) fn page(&self, base: u64, arch: Arch) -> Vec<u8> {
        let mut page = self.code.to_vec();
        page.resize(DATA as usize, 0);
        let restorer = self.restorer.map_or(0, |offset| base + offset);
        let flags = FLAGS | if restorer == 0 { 0 } else { SA_RESTORER };
        let words = [base, flags, restorer];
        match arch {
            Arch::I386 => page.extend(words.iter().flat_map(|word| (*word as u32).to_le_bytes())),
            _ => page.extend(words.iter().flat_map(|word| word.to_le_bytes())),
        }
        // The handler blocks all signals.
        page.extend(u64::MAX.to_le_bytes());
        page.resize((DATA + ARENAS) as usize, 0);
        page
    }
}

impl Space {
    /// The arenas in the list.
    pub(in crate::ptrace) fn listed_arenas(&self) -> Vec<u64> {
        let Some(page) = self.trap_handler else { return Vec::new() };
        let mut list = vec![0; 8 * MOST];
        let read = self.memory.read(page + DATA + ARENAS, &mut list);
        let raw = list.get(..read).unwrap_or_default().chunks_exact(8);
        let words = raw.map(|raw| u64::from_le_bytes(raw.try_into().unwrap_or_default()));
        words.take_while(|&base| base != 0).collect()
    }

    /// Writes the list of arenas where the memory has another one.
    pub(in crate::ptrace) fn complete_list(&self) {
        if !self.listed_arenas().into_iter().eq(self.bases()) {
            self.list_arenas();
        }
    }

    /// The addresses of the arenas that have a place in the list.
    fn bases(&self) -> impl Iterator<Item = u64> {
        self.storages.iter().map(|storage| storage.arena.base()).take(MOST)
    }

    /// Writes the list of arenas.
    pub(in crate::ptrace) fn list_arenas(&self) {
        let Some(page) = self.trap_handler else { return };
        let list: Vec<u8> = self.bases().chain([0]).flat_map(u64::to_le_bytes).collect();
        self.memory.write(page + DATA + ARENAS, &list);
    }
}
