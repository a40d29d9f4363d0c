// SPDX-License-Identifier: GPL-2.0

//! Patches of code: breakpoint instructions in place of the program's bytes, and back, many at once.

use core::mem::{offset_of, size_of};

use fastpath::layout;
use kernel::prelude::*;
use ubp::arch::{ALIGNMENT, BREAKPOINT};
use wire::{Failure, Status};

use crate::ffi;
use crate::mm::remote::Remote;
use crate::vec::Keep;

/// Patches that are collected before they are made.
const MOST: usize = 4096;

/// A patch of code: `struct ntrace_patch`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Patch {
    address: u64,
    old: [u8; 4],
    new: [u8; 4],
    /// Whether the patch was made: not if other bytes than `old` were there.
    done: u32,
    /// Whether `new` are the program's bytes.
    restores: u32,
}

const _: () = {
    assert!(size_of::<Patch>() == layout::NTRACE_PATCH_SIZE as usize);
    assert!(offset_of!(Patch, address) == layout::NTRACE_PATCH_ADDRESS as usize);
    assert!(offset_of!(Patch, old) == layout::NTRACE_PATCH_OLD as usize);
    assert!(offset_of!(Patch, new) == layout::NTRACE_PATCH_NEW as usize);
    assert!(offset_of!(Patch, done) == layout::NTRACE_PATCH_DONE as usize);
    assert!(offset_of!(Patch, restores) == layout::NTRACE_PATCH_RESTORES as usize);
    assert!(BREAKPOINT.len() <= layout::NTRACE_PATCH_BYTES as usize);
};

/// Patches, which are made in their order.
pub(crate) struct Patches<'a> {
    memory: Remote<'a>,
    all: KVVec<Patch>,
}

impl<'a> Patches<'a> {
    /// No patches.
    pub(crate) fn new(memory: Remote<'a>) -> Patches<'a> {
        Patches { memory, all: KVVec::new() }
    }

    /// Adds a breakpoint instruction in place of the program's bytes, which `bytes` begin with.
    pub(crate) fn set(&mut self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.push(address, bytes, &BREAKPOINT, false)
    }

    /// Adds the program's bytes in place of a breakpoint instruction. Makes the patches first if there are many.
    pub(crate) fn restore(&mut self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        if self.all.len() >= MOST {
            self.make(|_, _| ())?;
        }
        self.push(address, &BREAKPOINT, bytes, true)
    }

    /// Adds a patch. An address may come from the debuggee's memory: one that is not aligned is no site, and is left out, because the
    /// patch might reach into the next page.
    fn push(&mut self, address: u64, old: &[u8], new: &[u8], restores: bool) -> Result<(), Failure> {
        if address % ALIGNMENT != 0 {
            return Ok(());
        }
        let mut patch = Patch { address, old: [0; 4], new: [0; 4], done: 0, restores: restores.into() };
        for (to, from) in patch.old.iter_mut().zip(old).take(BREAKPOINT.len()) {
            *to = *from;
        }
        for (to, from) in patch.new.iter_mut().zip(new).take(BREAKPOINT.len()) {
            *to = *from;
        }
        self.all.push(patch, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory.into())
    }

    /// Makes the patches. Calls `failed` with index and address of each that could not be made.
    #[inline(never)]
    pub(crate) fn make(&mut self, mut failed: impl FnMut(usize, u64)) -> Result<(), Failure> {
        let (patches, count) = (self.all.as_mut_ptr().cast(), self.all.len());
        // SAFETY: `patches` points to `count` patches, whose layout is asserted above.
        let made = unsafe { ffi::ntrace_memory_patch(self.memory.mm(), patches, count as _, BREAKPOINT.len() as _) };
        for (index, patch) in self.all.iter().enumerate().filter(|(_, patch)| patch.done == 0) {
            failed(index, patch.address);
        }
        self.all.keep(0);
        if made < 0 {
            Err(self.memory.gone())
        } else {
            Ok(())
        }
    }
}
