//! Patterns for paths.

use crate::core::glob::is_path;

/// A pattern for a path: `*` matches any bytes, `?` matches one byte, and all other bytes match themselves. A pattern without `/` is
/// compared with the last component.
///
/// A comparison takes at most as many steps as the product of both lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob(Box<[u8]>);

impl Glob {
    /// The pattern with a text.
    pub fn new(text: impl AsRef<[u8]>) -> Glob {
        Glob(text.as_ref().into())
    }

    /// Whether the pattern matches a path.
    pub fn matches(&self, path: impl AsRef<[u8]>) -> bool {
        is_path(&self.0, path.as_ref())
    }
}
