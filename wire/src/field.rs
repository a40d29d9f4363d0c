/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One number.
    Word,
    /// Bytes of any length.
    Blob,
}

impl Kind {
    /// The name of the kind, as in ntrace(4).
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Word => "word",
            Kind::Blob => "blob",
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// A number.
    Word(u64),
    /// Bytes.
    Blob(&'a [u8]),
}

impl<'a> Field<'a> {
    /// The field's word in a message: the number, or the length of the blob.
    pub fn word(self) -> u64 {
        match self {
            Field::Word(word) => word,
            Field::Blob(bytes) => bytes.len() as u64,
        }
    }

    /// The field's bytes after all words: the blob, or nothing.
    pub fn blob(self) -> &'a [u8] {
        match self {
            Field::Word(_) => &[],
            Field::Blob(bytes) => bytes,
        }
    }
}
