//! How debug information is read.

use gimli::{EndianArcSlice, LittleEndian};

/// The bytes of a section.
pub(crate) type Reader = EndianArcSlice<LittleEndian>;
