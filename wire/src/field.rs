/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One number.
    Word,
    /// Bytes, as many as they are.
    Blob,
}

impl Kind {
    /// Its name in the manual.
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
    /// The word that stands for it among the fields.
    pub fn word(self) -> u64 {
        match self {
            Field::Word(word) => word,
            Field::Blob(bytes) => bytes.len() as u64,
        }
    }

    /// What stands for it behind them.
    pub fn blob(self) -> &'a [u8] {
        match self {
            Field::Word(_) => &[],
            Field::Blob(bytes) => bytes,
        }
    }
}
