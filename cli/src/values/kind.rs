//! What a value is to a filter.

/// What a value is to a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number with its bytes.
    Integer { size: u8, signed: bool },
    /// A number with a fraction.
    Float,
    /// A text with a length.
    Text,
    /// An address.
    Pointer,
    /// A number with its bytes, of which values may have names.
    Enumeration { size: u8, signed: bool },
    /// No single value.
    Other,
}
