// SPDX-License-Identifier: GPL-2.0

//! A write-back cache of an arena's pages.

use fastpath::Storage;
use kernel::prelude::*;
use ubp::core::{Inaccessible, Memory};
use wire::{Failure, Status};

use crate::mm::remote::Remote;
use crate::vec::{zeroes, Keep};

const PAGE: usize = 4096;

/// The memory of an arena. Pages that were written stay in the kernel until [`Cache::flush`].
pub(crate) struct Cache<'a> {
    memory: Remote<'a>,
    pub(crate) storage: Storage,
    /// A copy of each page that was written. The copies of other pages are empty or missing.
    pages: KVVec<KVVec<u8>>,
}

impl<'a> Cache<'a> {
    /// An empty cache.
    #[inline(never)]
    pub(crate) fn new(memory: Remote<'a>, storage: &Storage) -> Cache<'a> {
        Cache { memory, storage: *storage, pages: KVVec::new() }
    }

    /// The copy of a page. The first call makes it.
    fn page(&mut self, page: usize) -> Result<&mut [u8]> {
        while self.pages.len() <= page {
            self.pages.push(KVVec::new(), GFP_KERNEL_ACCOUNT)?;
        }
        let bytes = self.pages.get_mut(page).ok_or(EFAULT)?;
        if bytes.is_empty() {
            zeroes(bytes, PAGE).map_err(|_| ENOMEM)?;
            let there = self.memory.read(self.storage.base + (page * PAGE) as u64, bytes);
            if there.map_err(|_| EFAULT)? < PAGE {
                bytes.keep(0);
                return Err(EFAULT);
            }
        }
        Ok(bytes)
    }

    /// Writes the changed pages, the last page first: slots lie behind the index by which hits find them. A hit that reads half an
    /// entry finds none, and looks again.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let pages = core::mem::replace(&mut self.pages, KVVec::new());
        for (page, bytes) in pages.iter().enumerate().rev().filter(|(_, bytes)| !bytes.is_empty()) {
            let address = self.storage.base + (page * PAGE) as u64;
            if self.memory.write(address, bytes)? < PAGE {
                return Err(Failure::new(Status::Memory, address));
            }
        }
        Ok(())
    }
}

/// The page of an access and the offset in it. An arena aligns what it holds by size, so an access stays in one page.
fn locate(offset: u64, length: usize) -> Result<(usize, usize), Inaccessible> {
    let inside = offset as usize % PAGE;
    if inside + length > PAGE {
        return Err(Inaccessible { offset });
    }
    Ok((offset as usize / PAGE, inside))
}

impl Memory for Cache<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        let (page, inside) = locate(offset, buffer.len())?;
        let wanted = buffer.len();
        match self.pages.get(page) {
            Some(bytes) if !bytes.is_empty() => bytes.as_slice().read(inside as u64, buffer),
            _ => match self.memory.read(self.storage.base.wrapping_add(offset), buffer) {
                Ok(there) if there == wanted => Ok(()),
                _ => Err(Inaccessible { offset }),
            },
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        let (page, inside) = locate(offset, bytes.len())?;
        self.page(page).map_err(|_| Inaccessible { offset })?.write(inside as u64, bytes)
    }
}
