use std::fmt;

/// A build ID (`ld --build-id`): bytes that differ for files that differ.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// The most bytes of a build ID. Linkers write 20 or 16.
    pub const MOST: usize = 64;

    /// `None` for no bytes, and for more than [`BuildId::MOST`].
    pub(super) fn new(bytes: &[u8]) -> Option<BuildId> {
        (!bytes.is_empty() && bytes.len() <= BuildId::MOST).then(|| BuildId(bytes.into()))
    }

    /// The bytes, at most [`BuildId::MOST`].
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Hexadecimal digits, as tools show a build ID.
impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}
