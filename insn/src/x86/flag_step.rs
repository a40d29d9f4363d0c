//! What a common instruction of 64-bit mode does to flags: for scans ([`super::liveness`]).

use super::Flags;
use super::chunk::MAX_LEN;
use super::quick::{self, Quick};
use super::step::Step;

/// What the instruction at the start of the bytes does to flags, in 64-bit mode; `None` if tables do not tell it.
#[inline(always)]
pub(super) fn step(chunk: &[u8; MAX_LEN]) -> Option<Step<Flags>> {
    let Quick { len, word, row, is_wide } = quick::common(chunk)?;
    let mut overwritten = row.overwritten();
    if !row.is_plain() {
        if !row.is_counted() {
            return None;
        }
        let mask = if is_wide { 63 } else { 31 };
        let has_count = chunk.get((len as usize).wrapping_sub(1)).is_some_and(|count| count & mask != 0);
        overwritten = if has_count { overwritten } else { Flags::EMPTY };
    }
    let distance = if row.is_long() { (word >> 8) as i32 as isize } else { (word >> 8) as i8 as isize };
    Some(Step { read: row.read(), overwritten, len: len as usize, lead: row.lead(), distance })
}
