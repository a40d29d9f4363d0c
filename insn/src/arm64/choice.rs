//! How names are told from choices between names.
//!
//! insn-gen, which writes the table, includes this file.

/// In an item of the table: the rest is the place of a choice, not the number of a name.
pub(crate) const CHOICE: u16 = 0x8000;
