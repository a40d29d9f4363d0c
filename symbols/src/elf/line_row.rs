//! Code with its source line.

use std::ops::Range;
use std::rc::Rc;

/// Code of one source line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineRow {
    /// The addresses in the file.
    pub addresses: Range<u64>,
    /// The path of the source file.
    pub file: Rc<str>,
    /// The line, from 1 on.
    pub line: u32,
}
