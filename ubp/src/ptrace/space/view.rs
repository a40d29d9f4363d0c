//! Memory as the program has it, without our bytes.

use super::text::mark;
use super::{SlotId, Space};
use crate::arch::{BREAKPOINT, MAX_LEN};

impl Space {
    /// Puts the original bytes over `buffer`, which was read at `address`.
    pub(in crate::ptrace) fn clean(&self, address: u64, buffer: &mut [u8]) {
        let end = address.saturating_add(buffer.len() as u64);
        // One that begins before may reach in.
        for (&site, &slot) in self.sites.range(address.saturating_sub(BREAKPOINT.len() as u64 - 1)..end) {
            let Some(original) = self.entry(slot).and_then(|entry| mark(entry.bytes())) else { continue };
            let before = address.saturating_sub(site) as usize;
            let (ours, original) = (BREAKPOINT.get(before..), original.get(before..));
            let (Some(ours), Some(original)) = (ours, original) else { continue };
            let place = buffer.get_mut(site.saturating_sub(address) as usize..).unwrap_or_default();
            let length = place.len().min(ours.len());
            if let (Some(place), Some(ours), Some(original)) =
                (place.get_mut(..length), ours.get(..length), original.get(..length))
                // Else it is not ours: the program wrote there, or mapped something else.
                && place == ours
            {
                place.copy_from_slice(original);
            }
        }
    }

    /// Reads memory without our bytes, and returns how much there is.
    pub(in crate::ptrace) fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let count = self.memory.read(address, buffer);
        if let Some(part) = buffer.get_mut(..count) {
            self.clean(address, part);
        }
        count
    }

    /// Writes memory; breakpoint instructions that stand there stay.
    pub(in crate::ptrace) fn write(&mut self, address: u64, bytes: &[u8]) -> usize {
        let end = address.saturating_add(bytes.len() as u64);
        let mut raw = bytes.to_vec();
        let touched: Vec<(u64, SlotId)> = self
            .sites
            .range(address.saturating_sub(MAX_LEN as u64)..end)
            .filter(|&(&site, &slot)| {
                self.entry(slot).is_some_and(|entry| site + entry.bytes().len() as u64 > address) && self.is_armed(site)
            })
            .map(|(&site, &slot)| (site, slot))
            .collect();
        let mut texts = Vec::with_capacity(touched.len());
        for &(site, slot) in &touched {
            let mut text = [0; MAX_LEN];
            let length = self.read(site, &mut text);
            for (at, byte) in text.iter_mut().enumerate().take(length) {
                let from = (site + at as u64).checked_sub(address).and_then(|at| bytes.get(at as usize));
                *byte = from.copied().unwrap_or(*byte);
            }
            texts.push((site, slot, text, length));
        }
        // The slots first: a thread that hits in between passes by the new instruction.
        for (site, slot, text, length) in texts {
            self.replace(site, slot, text.get(..length).unwrap_or(&[]));
            if self.sites.contains_key(&site) {
                for (at, byte) in BREAKPOINT.into_iter().enumerate() {
                    let place = (site + at as u64).checked_sub(address).and_then(|at| raw.get_mut(at as usize));
                    place.into_iter().for_each(|place| *place = byte);
                }
            }
        }
        self.flush();
        self.memory.write(address, &raw)
    }

    /// Gives a site another instruction.
    fn replace(&mut self, site: u64, old: SlotId, text: &[u8]) {
        let info = self.info(old).unwrap_or_default();
        self.epoch += 1;
        self.retire(old);
        if let Some(original) = mark(text) {
            match self.enter(site, text) {
                Ok(slot) => {
                    if let Some(new) = self.info_mut(slot) {
                        (new.first, new.internal) = (info.first, info.internal);
                    }
                    let method = self.method(slot);
                    let mut next = info.first;
                    while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
                        breakpoint.method = method;
                        next = breakpoint.next;
                    }
                }
                Err(_) => {
                    self.memory.write(site, &original);
                    let mut next = info.first;
                    while let Some(breakpoint) = next.and_then(|id| self.breakpoint_mut(id)) {
                        breakpoint.active = false;
                        next = breakpoint.next.take();
                    }
                }
            }
        }
    }
}
