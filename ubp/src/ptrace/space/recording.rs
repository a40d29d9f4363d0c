//! The reading of what trampolines have recorded.

use super::Space;
use crate::ptrace::arch;
use crate::ptrace::jumps::Stack;
use crate::ptrace::recorder::Recorded;
use crate::record::StackCopy;
use crate::{Pid, Registers, Tid};

impl Space {
    /// Whether trampolines may record hits.
    pub(in crate::ptrace) fn has_rings(&self) -> bool {
        self.jumps.stores.iter().any(|store| store.ring.is_some())
    }

    /// Notes that a thread has this base of fs. Records with it are those of another thread up to this moment.
    pub(in crate::ptrace) fn note_key(&mut self, key: u64, pid: Pid, tid: Tid) {
        self.recorded.main.get_or_insert((pid, pid.leader()));
        if self.recorded.keys.get(&key) != Some(&(pid, tid)) {
            self.read_rings();
            self.recorded.keys.insert(key, (pid, tid));
        }
    }

    /// Reads what trampolines have recorded.
    pub(in crate::ptrace) fn read_rings(&mut self) {
        self.read_all(false);
    }

    /// Reads what trampolines have recorded before the last thread of the memory ended. What is incomplete is lost.
    pub(in crate::ptrace) fn read_rings_at_end(&mut self) {
        self.read_all(true);
    }

    fn read_all(&mut self, is_last: bool) {
        let (mut entries, mut limit) = (Vec::new(), None);
        for ring in self.jumps.stores.iter_mut().filter_map(|store| store.ring.as_mut()) {
            let (more, lost) = ring.read(is_last);
            entries.extend(more);
            self.recorded.lost += lost;
            limit = ring.shape.limit();
        }
        for entry in entries {
            let Some(&site) = self.recorded.sites.get(entry.id as usize) else { continue };
            let thread = self.recorded.keys.get(&entry.key).copied().or(self.recorded.main);
            let Some((pid, tid)) = thread else { continue };
            let mut text = entry.text;
            let texts = text.iter_mut().flat_map(|texts| texts.iter_mut()).zip(entry.arguments);
            for (text, address) in texts.filter(|(text, _)| text.length > 0) {
                self.clean(address, &mut text.bytes);
            }
            let stack = entry.stack.map(|stack| {
                let registers = Registers { raw: arch::recorded_registers(&stack.registers, site) };
                let Stack { mut bytes, is_cut, .. } = *stack;
                self.clean(registers.sp().0, &mut bytes);
                Box::new(StackCopy { registers, bytes, is_cut })
            });
            if self.count_recorded(site) {
                let (ticks, arguments, caller) = (entry.ticks, entry.arguments, entry.caller);
                self.recorded.hits.push(Recorded { pid, tid, site, ticks, arguments, caller, text, stack });
            }
        }
        let surplus = |limit: usize| self.recorded.hits.len().checked_sub(limit).filter(|surplus| *surplus > 0);
        if let Some(surplus) = limit.and_then(surplus) {
            self.recorded.hits.sort_by_key(|hit| hit.ticks);
            self.recorded.hits.drain(..surplus);
            self.recorded.lost += surplus as u64;
        }
    }

    /// Counts a recorded arrival. Returns whether a breakpoint reports it.
    fn count_recorded(&mut self, site: u64) -> bool {
        let mut is_told = false;
        let mut next = self.slot_of(site).and_then(|slot| self.info(slot)).and_then(|info| info.first);
        while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
            breakpoint.count(1);
            is_told |= breakpoint.spec.is_told(breakpoint.hits);
            next = breakpoint.next;
        }
        is_told
    }

    /// Makes a record of the ring at an address one that nobody reads, because its thread begins once more; `slot` is the address of its slot, if
    /// it has one.
    pub(in crate::ptrace) fn give_up_record(&mut self, ring_at: u64, slot: Option<u64>) {
        let mut stores = self.jumps.stores.iter_mut().filter(|store| store.ring_at() == ring_at);
        if let Some(ring) = stores.find_map(|store| store.ring.as_mut()) {
            ring.give_up(slot.and_then(|slot| slot.checked_sub(ring_at)));
        }
    }
}
