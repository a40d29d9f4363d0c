//! The breakpoint table and the slots in the debuggee's memory, and the algorithms on them.
//!
//! The kernel module shares this code: it depends on `core` alone, does not allocate and cannot panic. The memory is treated as hostile:
//! every number read and every loop is bounded, and plans are never stored but recomputed from the instruction's bytes.
//!
//! # Layout
//!
//! An arena is one mapping. All numbers are little endian. `C` is the capacity in entries, `I` the length of the index in words, a power
//! of two that is at least `2 * C`.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `ubparena` |
//! | 8 | 4 | version, 1 |
//! | 12 | 4 | architecture, as ELF's `e_machine` |
//! | 16 | 4 | `C` |
//! | 20 | 4 | `I` |
//! | 24 | 4 | entries in use |
//! | 28 | 4 | number of entries ever used; entries from this number on are untouched |
//! | 32 | 4 | number of the first free entry below that, plus one; 0 if there is none |
//! | 36 | 4 | reserved, 0 |
//! | 40 | 8 | code of a system call instruction, for system calls on behalf of the back end |
//! | 48 | 16 | reserved, 0 |
//! | 64 | 4 * `I` | index: a hash table of sites with open addressing and linear probing; a word is an entry's number plus one, or 0 if empty |
//! | 64 + 4 * `I`, up to a multiple of 64 | 32 * `C` | entries |
//! | then | 32 * `C` | slots; slot `i` belongs to entry `i` |
//!
//! An entry:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | site; in a free entry the number of the next free entry plus one |
//! | 8 | 16 | original instruction |
//! | 24 | 1 | length of the instruction |
//! | 25 | 1 | state: 0 free, 1 active, 2 retired, 3 inactive |
//! | 26 | 1 | the back end's mark |
//! | 27 | 1 | reserved, 0 |
//! | 28 | 4 | number of breakpoints that share the site |

mod arena;
mod buckets;
mod entry;
pub mod glob;
mod index;
mod layout;
mod limits;
mod memory;
mod pass;
pub(crate) mod place;
mod sums;
mod table;

pub use arena::{Arena, Error, Number};
pub use buckets::Buckets;
pub use entry::{Entry, State, Stored};
pub use layout::{Layout, MAGIC, VERSION};
pub use limits::{Limits, Seen};
pub use memory::{Inaccessible, Memory};
pub use pass::{
    Passing, Problem, Way, passing, passing_near, passing_whole, prepare, prepare_near, prepare_whole, way,
};
pub use place::{Area, Use, places};
pub use sums::{Shape, Sums};
