//! The breakpoint table and the slots as they lie in the debuggee's memory, and the algorithms over them.
//!
//! No allocation, no panic, nothing but `core`: the kernel shares it. Whatever the memory holds is taken as hostile: every
//! number read is bounded, every loop is bounded, and a plan is never stored, it is made anew from the instruction's bytes.
//!
//! # Layout
//!
//! An arena is one mapping. All numbers are little endian. `C` is the capacity, `I` the length of the index, a power of two and at
//! least `2 * C`.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic, `ubparena` |
//! | 8 | 4 | version, 1 |
//! | 12 | 4 | architecture, as ELF's `e_machine` |
//! | 16 | 4 | `C` |
//! | 20 | 4 | `I` |
//! | 24 | 4 | entries in use |
//! | 28 | 4 | entries ever used: those from here on are untouched |
//! | 32 | 4 | first free entry below that, its number plus one; 0: none |
//! | 36 | 4 | reserved, 0 |
//! | 40 | 8 | code that enters the kernel, for system calls on behalf of the back end |
//! | 48 | 16 | reserved, 0 |
//! | 64 | 4 * `I` | index: open addressing by a hash of the site, linear probing; entry's number plus one, 0: empty |
//! | 64 + 4 * `I`, up to a multiple of 64 | 32 * `C` | entries |
//! | then | 32 * `C` | slots: entry `i` owns slot `i` |
//!
//! An entry:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | site; in a free entry the next free entry's number plus one |
//! | 8 | 16 | bytes of the instruction |
//! | 24 | 1 | its length |
//! | 25 | 1 | state: 0 free, 1 active, 2 retired, 3 inactive |
//! | 26 | 1 | the back end's mark |
//! | 27 | 1 | reserved, 0 |
//! | 28 | 4 | references |

mod arena;
mod entry;
mod index;
mod layout;
mod memory;
mod pass;
mod place;
mod table;

pub use arena::{Arena, Error, Number};
pub use entry::{Entry, State, Stored};
pub use layout::{Layout, MAGIC, VERSION};
pub use memory::{Inaccessible, Memory};
pub use pass::{Passing, Problem, Way, passing, passing_near, prepare, prepare_near, way};
#[cfg(all(test, feature = "std", target_arch = "x86_64"))]
pub(crate) use place::GROWTH;
pub use place::{Area, Use, places};
