// SPDX-License-Identifier: GPL-2.0

//! Changes of an arena that are made in the kernel's memory and written to the debuggee's all at once.

use kernel::prelude::*;
use ubp::core::{Inaccessible, Memory};
use wire::{Failure, Status};

use crate::debuggee::Debuggee;
use crate::server::zeroes;
use crate::space::Storage;

const PAGE: usize = 4096;

/// The memory of one arena. A page that was written is kept here until [`Cache::flush`].
pub(crate) struct Cache<'a> {
    debuggee: &'a Debuggee,
    pub(crate) storage: Storage,
    /// For each page of the arena the number of its copy plus one, or 0.
    numbers: KVVec<u32>,
    copies: KVVec<u8>,
}

impl<'a> Cache<'a> {
    /// One with no page.
    pub(crate) fn new(debuggee: &'a Debuggee, storage: &Storage) -> Cache<'a> {
        Cache { debuggee, storage: *storage, numbers: KVVec::new(), copies: KVVec::new() }
    }

    fn copy_of(&self, page: usize) -> Option<usize> {
        let number = *self.numbers.get(page)?;
        Some((number.checked_sub(1)?) as usize * PAGE)
    }

    /// The copy of a page, which is made where there is none.
    fn make(&mut self, page: usize) -> Result<usize> {
        if let Some(copy) = self.copy_of(page) {
            return Ok(copy);
        }
        while self.numbers.len() <= page {
            self.numbers.push(0, GFP_KERNEL_ACCOUNT)?;
        }
        let mut bytes = KVVec::new();
        zeroes(&mut bytes, PAGE).map_err(|_| ENOMEM)?;
        let there = self.debuggee.read(self.storage.base + (page * PAGE) as u64, &mut bytes).map_err(|_| EFAULT)?;
        if there < PAGE {
            return Err(EFAULT);
        }
        let copy = self.copies.len();
        self.copies.extend_from_slice(&bytes, GFP_KERNEL_ACCOUNT)?;
        if let Some(number) = self.numbers.get_mut(page) {
            *number = (copy / PAGE + 1) as u32;
        }
        Ok(copy)
    }

    /// Writes what was changed.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        for (page, number) in self.numbers.iter_mut().enumerate() {
            let Some(copy) = core::mem::take(number).checked_sub(1) else { continue };
            let address = self.storage.base + (page * PAGE) as u64;
            let bytes = self.copies.get(copy as usize * PAGE..).and_then(|bytes| bytes.get(..PAGE));
            if self.debuggee.write(address, bytes.unwrap_or_default())? < PAGE {
                return Err(Failure::new(Status::Memory, address));
            }
        }
        // SAFETY: fewer than there were.
        unsafe { self.copies.set_len(0) };
        Ok(())
    }
}

/// The parts of an access that lie in one page each: the page, where in it, and how many bytes before.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let start = offset as usize;
    let mut done = 0;
    core::iter::from_fn(move || {
        let at = start.wrapping_add(done);
        let inside = at % PAGE;
        let count = (PAGE - inside).min(length.wrapping_sub(done));
        let part = (at / PAGE, inside, done, count);
        done = done.wrapping_add(count);
        (count > 0).then_some(part)
    })
}

impl Memory for Cache<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        for (page, inside, done, count) in parts(offset, buffer.len()) {
            let part = buffer.get_mut(done..).and_then(|rest| rest.get_mut(..count)).ok_or(Inaccessible { offset })?;
            match self.copy_of(page) {
                Some(copy) => self.copies.as_slice().read((copy + inside) as u64, part)?,
                None => match self.debuggee.read(self.storage.base.wrapping_add(offset + done as u64), part) {
                    Ok(there) if there == count => {}
                    _ => return Err(Inaccessible { offset }),
                },
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        for (page, inside, done, count) in parts(offset, bytes.len()) {
            let part = bytes.get(done..).and_then(|rest| rest.get(..count)).ok_or(Inaccessible { offset })?;
            let copy = self.make(page).map_err(|_| Inaccessible { offset })?;
            self.copies.as_mut_slice().write((copy + inside) as u64, part)?;
        }
        Ok(())
    }
}
