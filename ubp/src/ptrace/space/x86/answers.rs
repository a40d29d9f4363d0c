//! Entries for the bytes that jumps cover: how the handlers in the debuggee answer threads there when the tracer is gone, and
//! how the tracer lets a thread pass an instruction that begins in the midst of another.

use std::collections::BTreeMap;

use trampoline::x86::trap;

use super::{Info, SlotId, Space};
use crate::arch::{MAX_LEN, decode, length};
use crate::core::{Entry, prepare_whole};
use crate::ptrace::arch::jump_mode;
use crate::ptrace::jumps::LENGTH;

/// The mark of an entry whose threads continue in the slot, and whose site stays as it is; trap_handler_64.s knows it.
const STAYS: u8 = 1;
/// `int3`, and the opcode of `jmp rel32`.
const TRAP: u8 = 0xcc;
const JUMP_OPCODE: u8 = 0xe9;
/// `nop`. An entry holds an instruction, and one for an instruction of a trampoline holds this one, which nobody executes.
const NOP: u8 = 0x90;
/// `jmp *0(%rip)`; the target follows.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

impl Space {
    /// Adds entries for all that a thread can meet at a jump when the tracer is gone. Returns whether there was room for those of the
    /// instructions that the jump covers. In the midst of these there is none where the bytes are no instruction that can run as a copy alone.
    pub(super) fn add_answers(&mut self, site: u64) -> bool {
        let Some(jump) = self.jumps.get(site) else { return false };
        // Behind the bytes of the jump, the handler removes breakpoint instructions as it does elsewhere.
        let sites: Vec<u64> = jump.sites().filter(|site| !jump.is_further(*site)).collect();
        let entries: Vec<(u64, Option<u64>, Vec<u8>)> = (1..LENGTH)
            .map(|offset| (site + offset, jump.trampoline.entry(offset as u8), offset))
            .filter(|(address, ..)| !sites.contains(address))
            .map(|(address, entry, offset)| {
                (address, entry, jump.code().get(offset as usize..).unwrap_or_default().to_vec())
            })
            .collect();
        let answered: Vec<(u64, u64)> = jump.answered().collect();
        for member in sites {
            self.mark_site(member, STAYS);
        }
        for (at, to) in answered {
            if self.add_answer(at, Some(to), &[NOP]).is_none() {
                return false;
            }
        }
        for (address, entry, code) in entries {
            let slot = self.add_answer(address, entry, &code);
            if slot.is_none() && entry.is_some() {
                return false;
            }
            let alone =
                |slot: &SlotId| entry.is_some() || self.info(*slot).is_some_and(|info| info.boosted || info.whole);
            if let Some(slot) = slot.filter(|slot| !alone(slot)) {
                // The handler could not do what the tracer does behind the copy.
                self.answers.remove(&address);
                self.retire(slot);
            }
        }
        true
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
                let (passing, length) = prepare_whole(code, address, storage.arena.slot(number), mode).ok()?;
                (Ok(passing), length)
            }
        };
        let mut entry = Entry::new(address, code.get(..length).unwrap_or(code));
        entry.references = 0;
        let info = passing.as_ref().map(Info::of).unwrap_or_default();
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

    /// Takes the entries for a jump, and for these instructions of its trampoline, out of use.
    pub(super) fn remove_answers(&mut self, site: u64, answered: &[u64]) {
        for address in (site..site + LENGTH).chain(answered.iter().copied()) {
            self.mark_site(address, 0);
            if let Some(slot) = self.answers.remove(&address) {
                self.retire(slot);
            }
        }
    }

    /// Puts the program's bytes back where a jump stands that is not in the table; `entries` has the instructions that it may cover.
    pub(super) fn restore_under_jumps(&self, entries: &BTreeMap<u64, Vec<u8>>) {
        if jump_mode(self.arch, self.mode).is_none() {
            return;
        }
        for &site in entries.keys().filter(|site| self.jumps.get(**site).is_none()) {
            let Some([head, tail @ ..]) = self.memory.read_array::<{ LENGTH as usize }>(site) else { continue };
            let stands = tail.iter().all(|byte| trap(*byte).is_some());
            if let Some(original) = original_at(entries, site).filter(|_| stands && [JUMP_OPCODE, TRAP].contains(&head))
            {
                self.memory.write(site, &[TRAP]);
                self.memory.write(site + 1, original.get(1..).unwrap_or_default());
                self.memory.write(site, original.get(..1).unwrap_or_default());
            }
        }
    }
}

/// The program's bytes that a jump at `site` replaced, from the instructions there.
fn original_at(entries: &BTreeMap<u64, Vec<u8>>, site: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < LENGTH {
        let insn = entries.get(&(site + bytes.len() as u64)).filter(|insn| !insn.is_empty())?;
        bytes.extend(insn);
    }
    bytes.truncate(LENGTH as usize);
    Some(bytes)
}
