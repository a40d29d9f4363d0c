// SPDX-License-Identifier: GPL-2.0

//! Exchanging breakpoint instructions and the program's own bytes, many at once.

use kernel::prelude::*;
use ubp::arch::{ALIGNMENT, BREAKPOINT};
use wire::{Failure, Status};

use crate::ffi;
use crate::process::debuggee::Debuggee;
use crate::vec::Keep;

/// The most that are kept before they are made.
const MOST: usize = 4096;

/// What is to stand at an address in place of what stands there. shim.h has the same.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Patch {
    address: u64,
    old: [u8; 4],
    new: [u8; 4],
    /// Whether it was made: not where something else stood there.
    done: u32,
    /// Whether what is to stand there is what would without breakpoints.
    restores: u32,
}

/// Patches that are made in their order.
pub(crate) struct Patches<'a> {
    debuggee: &'a Debuggee,
    all: KVVec<Patch>,
}

impl<'a> Patches<'a> {
    /// None.
    pub(crate) fn new(debuggee: &'a Debuggee) -> Patches<'a> {
        Patches { debuggee, all: KVVec::new() }
    }

    /// A breakpoint instruction in place of the program's bytes, which `bytes` begin with.
    pub(crate) fn set(&mut self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.push(address, bytes, &BREAKPOINT, false)
    }

    /// The program's bytes in place of a breakpoint instruction. Where there are many they are made.
    pub(crate) fn restore(&mut self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        if self.all.len() >= MOST {
            self.make(|_, _| ())?;
        }
        self.push(address, &BREAKPOINT, bytes, true)
    }

    /// Addresses come from the debuggee's memory, too: what is not aligned might reach into the next page, and is no site.
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

    /// Makes them, and tells of each, by its place and address, that could not be made.
    #[inline(never)]
    pub(crate) fn make(&mut self, mut failed: impl FnMut(usize, u64)) -> Result<(), Failure> {
        let count = self.all.len();
        // SAFETY: so many are there.
        let made = unsafe {
            ffi::ntrace_memory_patch(
                self.debuggee.mm(),
                self.all.as_mut_ptr().cast(),
                count as _,
                BREAKPOINT.len() as _,
            )
        };
        for (place, patch) in self.all.iter().enumerate().filter(|(_, patch)| patch.done == 0) {
            failed(place, patch.address);
        }
        self.all.keep(0);
        if made < 0 {
            Err(Failure::new(Status::NoProcess, self.debuggee.number))
        } else {
            Ok(())
        }
    }
}
