//! Writes to memory in which breakpoint instructions stand.

use super::view::mark;
use super::{SlotId, Space};
use crate::arch::{BREAKPOINT, MAX_LEN};

impl Space {
    /// Writes memory as the program knows it; breakpoint instructions stay.
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
        // The slots come first: a thread that hits in between executes the new instruction.
        for (site, slot, text, length) in texts {
            self.replace_instruction(site, slot, text.get(..length).unwrap_or(&[]));
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

    /// Replaces the instruction of a site.
    fn replace_instruction(&mut self, site: u64, old: SlotId, text: &[u8]) {
        let info = self.info(old).unwrap_or_default();
        self.epoch += 1;
        self.retire(old);
        if let Some(original) = mark(text) {
            match self.add_site(site, text) {
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
