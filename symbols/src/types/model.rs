//! What debug information says of types, functions and their parameters.

use std::fmt;
use std::rc::Rc;

/// The largest number of parts of a type, and of entries below one.
pub(super) const MOST_PARTS: usize = 4096;

/// The entry of a type in the debug information of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    /// Whether the entry is in the file that several debug files share.
    pub(crate) shared: bool,
    /// The offset of the entry in `.debug_info`.
    pub(crate) offset: usize,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Type {
    /// The name that the source code gives it, or one that is made of that of its parts (`int*`).
    pub name: String,
    /// Its size in bytes; 0 if it is not known.
    pub size: u64,
    /// What a value of the type is.
    pub shape: Shape,
}

/// What a value of a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// A number without fraction.
    Integer {
        /// Whether it may be negative.
        signed: bool,
    },
    /// A character, or a number of one byte that C calls so.
    Character,
    /// False or true.
    Boolean,
    /// A floating-point number of IEEE 754, or the 80-bit format of x87.
    Float,
    /// A number of which some values have names.
    Enumeration(Vec<(i64, String)>),
    /// An address.
    Pointer {
        /// The type of what lies there; `None` if that has none (`void*`).
        target: Option<TypeId>,
        /// Whether the source code takes the pointer for its target (`T&`).
        reference: bool,
    },
    /// Values of one type, one behind the other.
    Array {
        /// The type of one of them.
        element: Rc<Type>,
        /// Their number.
        count: u64,
        /// Whether they are one register of the processor's vector unit.
        vector: bool,
    },
    /// Members.
    Structure(Structure),
    /// One of several structures, by the value of a member (Rust's enumerations with data).
    Variants {
        /// The member that tells which; `None` if there is one variant.
        tag: Option<Member>,
        /// The variants.
        variants: Vec<Variant>,
    },
    /// Elements in memory elsewhere, or text: strings, vectors and slices of C++, Rust and Go.
    Sequence(Sequence),
    /// The debug information does not say more.
    Opaque,
}

/// The members of a structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Structure {
    /// The members, base classes first.
    pub members: Vec<Member>,
    /// Whether all members lie at the same place.
    pub union: bool,
    /// Whether functions are given the address of a copy: C++ does so with a class that has a destructor or a copy constructor of its own.
    pub by_address: bool,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its name; empty for a base class and for a member without one.
    pub name: String,
    /// Its place in the structure in bytes.
    pub offset: u64,
    /// Its first bit, counted from `offset`, and the number of bits, if it is a bit-field.
    pub bits: Option<(u64, u64)>,
    /// Its type.
    pub kind: Rc<Type>,
}

/// A variant of an enumeration with data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variant {
    /// The values of the tag that choose it; `None` if every value does that chooses no other.
    pub values: Option<Vec<u64>>,
    /// Its data, under its name.
    pub member: Member,
}

/// Where the elements of a sequence lie.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sequence {
    /// The offset of the pointer to the first element.
    pub start: u64,
    /// How many there are.
    pub length: Length,
    /// The type of an element; `None` for the bytes of a text.
    pub element: Option<TypeId>,
    /// Whether the language passes it by address.
    pub by_address: bool,
}

/// What tells the number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Length {
    /// A number of eight bytes at an offset in the value.
    At(u64),
    /// A pointer behind the last element, at an offset in the value.
    End(u64),
    /// A number of eight bytes, as many bytes before the first element (strings of C++ before its eleventh year).
    Before(u64),
}

/// The language of a function, as far as it decides how values are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// C, C++, and all that keep to the calling convention of the platform.
    C,
    /// Rust, whose functions keep to a convention of their own.
    Rust,
    /// Go.
    Go,
}

/// Why a type or a function cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeError {
    /// The debug information is malformed: what the reader says.
    Malformed(String),
    /// Types are nested deeper than 24 times, or contain themselves.
    TooDeep,
    /// A type has more than 4096 parts.
    TooLarge,
    /// An entry refers to one that is not in the file.
    Missing,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeError::Malformed(what) => write!(f, "the debug information is malformed: {what}"),
            TypeError::TooDeep => f.write_str("the type is nested deeper than 24 times, or contains itself"),
            TypeError::TooLarge => f.write_str("the type has more than 4096 parts"),
            TypeError::Missing => f.write_str("the debug information refers to an entry that is not in the file"),
        }
    }
}

impl std::error::Error for TypeError {}

impl From<gimli::Error> for TypeError {
    fn from(error: gimli::Error) -> TypeError {
        TypeError::Malformed(error.to_string())
    }
}
