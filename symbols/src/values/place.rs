//! Where a value lies.

/// Where a value lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Its parts lie apart. A type without size has none.
    Parts(Vec<Part>),
    /// It lies in memory whose address is there.
    Pointed(At),
}

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Its offset in the value, in bytes.
    pub(super) offset: u64,
    /// Its size in bytes.
    pub(super) size: u64,
    pub(super) at: At,
}

/// A register, or a place on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// A general register by its number in debug information.
    General(u16),
    /// A vector register by its number among these.
    Vector(u16),
    /// The distance from the stack pointer in bytes.
    Stack(u64),
}
