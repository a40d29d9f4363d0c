//! Entries for the bytes that jumps cover: how the handler of `SIGTRAP` in the debuggee answers threads there when the tracer is gone, and
//! how the tracer lets a thread pass an instruction that begins in the midst of another.

use super::{SlotId, Space};
use crate::arch::{MAX_LEN, decode, length};
use crate::core::{Entry, prepare};
use crate::ptrace::jumps::LENGTH;

/// The mark of an entry whose threads continue in the slot, and whose site stays as it is; trap_handler_64.s knows it.
const STAYS: u8 = 1;
/// `jmp *0(%rip)`; the target follows.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

impl Space {
    /// Adds entries for all that a thread can meet at a jump when the tracer is gone. Where an entry finds no room, or where an instruction
    /// cannot run as a copy, there is none.
    pub(super) fn add_answers(&mut self, site: u64) {
        let Some(jump) = self.jumps.get(site) else { return };
        let sites: Vec<u64> = jump.sites().collect();
        let entries: Vec<(u64, Option<u64>, Vec<u8>)> = (1..LENGTH)
            .map(|offset| (site + offset, jump.trampoline.entry(offset as u8), offset))
            .filter(|(address, ..)| !sites.contains(address))
            .map(|(address, entry, offset)| {
                (address, entry, jump.code().get(offset as usize..).unwrap_or_default().to_vec())
            })
            .collect();
        for member in sites {
            self.mark_site(member, STAYS);
        }
        for (address, entry, code) in entries {
            let slot = self.add_answer(address, entry, &code);
            let alone = |slot: &SlotId| entry.is_some() || self.info(*slot).is_some_and(|info| info.boosted);
            if let Some(slot) = slot.filter(|slot| !alone(slot)) {
                // The handler could not do what the tracer does behind the copy.
                self.answers.remove(&address);
                self.retire(slot);
            }
        }
    }

    fn mark_site(&mut self, site: u64, mark: u8) {
        if let Some(slot) = self.slot_of(site) {
            self.change(slot, |entry| entry.mark = mark);
        }
    }

    /// Adds the entry of an address in covered bytes: its slot jumps to `to`, or holds a copy of the instruction at the beginning of `code`.
    /// Returns the slot.
    fn add_answer(&mut self, address: u64, to: Option<u64>, code: &[u8]) -> Option<SlotId> {
        if let Some(&slot) = self.answers.get(&address) {
            return Some(slot);
        }
        let arena = self.storage_for(address)?;
        let mode = self.mode;
        let storage = self.storages.get_mut(arena)?;
        let number = storage.arena.next_number().ok()?;
        let code = code.get(..MAX_LEN).unwrap_or(code);
        let (passing, length) = match to {
            Some(to) => {
                let insn = decode(code, mode).ok()?;
                let mut slot = [0xcc; stepping::SLOT_SIZE];
                for (place, byte) in slot.iter_mut().zip(JUMP.into_iter().chain(to.to_le_bytes())) {
                    *place = byte;
                }
                (Err(slot), length(&insn))
            }
            None => {
                let (passing, length) = prepare(code, address, storage.arena.slot(number), mode).ok()?;
                (Ok(passing), length)
            }
        };
        let mut entry = Entry::new(address, code.get(..length).unwrap_or(code));
        entry.references = 0;
        let info = passing.as_ref().map(super::Info::of).unwrap_or_default();
        entry.mark = STAYS;
        let bytes = match &passing {
            Ok(passing) => &passing.code().bytes,
            Err(slot) => slot,
        };
        let number = storage.arena.insert(&entry, bytes).ok()?;
        if let Some(place) = storage.info.get_mut(number.0 as usize) {
            *place = info;
        }
        let slot = SlotId { arena, number };
        self.answers.insert(address, slot);
        Some(slot)
    }

    /// The slot with a copy of the instruction at the beginning of `code`, for an address in covered bytes. `None`: there is no room, or no
    /// instruction that a copy can stand for.
    pub(in crate::ptrace) fn plain_answer(&mut self, address: u64, code: &[u8]) -> Option<SlotId> {
        // The entry of a boundary leads to the trampoline.
        if let Some(slot) = self.answers.get(&address).copied() {
            if self.info(slot)?.method.is_some() {
                return Some(slot);
            }
            self.answers.remove(&address);
            self.retire(slot);
        }
        let slot = self.add_answer(address, None, code);
        self.flush();
        slot
    }

    /// Takes the entries for a jump out of use.
    pub(super) fn remove_answers(&mut self, site: u64) {
        for offset in 0..LENGTH {
            self.mark_site(site + offset, 0);
            if let Some(slot) = self.answers.remove(&(site + offset)) {
                self.retire(slot);
            }
        }
    }
}
