// SPDX-License-Identifier: GPL-2.0

//! What the files of this folder share: failures of tables, and bytes laid over others.

use fastpath::Storage;
use ubp::core::Error as TableError;
use wire::{Failure, Status};

/// The failure of an access to a table, which the debuggee may have written to.
#[inline(never)]
pub(crate) fn failure(error: TableError, storage: &Storage) -> Failure {
    let offset = match error {
        TableError::Inaccessible(at) => at.offset,
        TableError::Corrupt { offset } => offset,
        _ => 0,
    };
    Failure::new(Status::Memory, storage.base.wrapping_add(offset))
}

/// Replaces the bytes of `bytes`, which are those at `address`, that overlap with `with` at `at`.
#[inline(never)]
pub(crate) fn overlay(bytes: &mut [u8], address: u64, with: &[u8], at: u64) {
    for (byte, at) in with.iter().zip(at..) {
        if let Some(to) = bytes.get_mut(at.wrapping_sub(address) as usize) {
            *to = *byte;
        }
    }
}
