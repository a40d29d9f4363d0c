// SPDX-License-Identifier: GPL-2.0

//! Changes of an arena that are made in the kernel's memory and written to the debuggee's all at once.

use kernel::prelude::*;
use ubp::core::{Inaccessible, Memory};
use wire::{Failure, Status};

use crate::device::commands::zeroes;
use crate::mm::space::Storage;
use crate::process::debuggee::Debuggee;
use crate::vec::Keep;

const PAGE: usize = 4096;

/// The memory of one arena. A page that was written is kept here until [`Cache::flush`].
pub(crate) struct Cache<'a> {
    debuggee: &'a Debuggee,
    pub(crate) storage: Storage,
    /// A copy of each page that was written; the others are empty, or are not there.
    pages: KVVec<KVVec<u8>>,
}

impl<'a> Cache<'a> {
    /// One with no page.
    #[inline(never)]
    pub(crate) fn new(debuggee: &'a Debuggee, storage: &Storage) -> Cache<'a> {
        Cache { debuggee, storage: *storage, pages: KVVec::new() }
    }

    /// The copy of a page, which is made where there is none.
    fn make(&mut self, page: usize) -> Result<&mut [u8]> {
        while self.pages.len() <= page {
            self.pages.push(KVVec::new(), GFP_KERNEL_ACCOUNT)?;
        }
        let bytes = self.pages.get_mut(page).ok_or(EFAULT)?;
        if bytes.is_empty() {
            zeroes(bytes, PAGE).map_err(|_| ENOMEM)?;
            let there = self.debuggee.read(self.storage.base + (page * PAGE) as u64, bytes);
            if there.map_err(|_| EFAULT)? < PAGE {
                bytes.keep(0);
                return Err(EFAULT);
            }
        }
        Ok(bytes)
    }

    /// Writes what was changed, the last page first: slots before the index by which hits come to them. They lie in other pages; who finds
    /// half of an entry finds nothing, and comes again.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let pages = core::mem::replace(&mut self.pages, KVVec::new());
        for (page, bytes) in pages.iter().enumerate().rev().filter(|(_, bytes)| !bytes.is_empty()) {
            let address = self.storage.base + (page * PAGE) as u64;
            if self.debuggee.write(address, bytes)? < PAGE {
                return Err(Failure::new(Status::Memory, address));
            }
        }
        Ok(())
    }
}

/// The page of an access, and where in it that begins: what an arena holds is aligned to its size, and lies in one page.
fn place(offset: u64, length: usize) -> Result<(usize, usize), Inaccessible> {
    let inside = offset as usize % PAGE;
    if inside + length > PAGE {
        return Err(Inaccessible { offset });
    }
    Ok((offset as usize / PAGE, inside))
}

impl Memory for Cache<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        let (page, inside) = place(offset, buffer.len())?;
        let wanted = buffer.len();
        match self.pages.get(page) {
            Some(bytes) if !bytes.is_empty() => bytes.as_slice().read(inside as u64, buffer),
            _ => match self.debuggee.read(self.storage.base.wrapping_add(offset), buffer) {
                Ok(there) if there == wanted => Ok(()),
                _ => Err(Inaccessible { offset }),
            },
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        let (page, inside) = place(offset, bytes.len())?;
        self.make(page).map_err(|_| Inaccessible { offset })?.write(inside as u64, bytes)
    }
}
