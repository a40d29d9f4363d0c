// SPDX-License-Identifier: GPL-2.0

//! An arena in a debuggee's memory, from outside.

use ubp::core::{Inaccessible, Memory};

use crate::debuggee::Debuggee;
use crate::space::Storage;

/// The memory of one arena, by offsets.
pub(crate) struct Remote<'a> {
    debuggee: &'a Debuggee,
    base: u64,
}

impl<'a> Remote<'a> {
    pub(crate) fn of(debuggee: &'a Debuggee, storage: &Storage) -> Remote<'a> {
        Remote { debuggee, base: storage.base }
    }
}

impl Memory for Remote<'_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        let wanted = buffer.len();
        match self.debuggee.read(self.base.wrapping_add(offset), buffer) {
            Ok(count) if count == wanted => Ok(()),
            _ => Err(Inaccessible { offset }),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        match self.debuggee.write(self.base.wrapping_add(offset), bytes) {
            Ok(count) if count == bytes.len() => Ok(()),
            _ => Err(Inaccessible { offset }),
        }
    }
}
