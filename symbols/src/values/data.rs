//! A value that was read.

use std::fmt;

/// A value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data {
    /// A number that may be negative.
    Signed(i64),
    /// A number.
    Unsigned(u64),
    /// A number of 128 bits.
    Wide(u128),
    /// A floating-point number of 32 bits: the bits.
    Single(u32),
    /// A floating-point number of 64 bits: the bits.
    Double(u64),
    /// False or true.
    Boolean(bool),
    /// A character.
    Character(char),
    /// A value of an enumeration by its name, or several of its names with ` | ` between.
    Name(String),
    /// An address, and what is there.
    Pointer {
        /// The address.
        address: u64,
        /// The text there if that is printable, cut after 64 bytes.
        text: Option<String>,
        /// The structure there, if the pointer leads to one, lies in none itself, and the memory can be read.
        target: Option<Box<Data>>,
    },
    /// A text.
    Text {
        /// Its first bytes, up to 64.
        text: String,
        /// Whether there are more.
        cut: bool,
    },
    /// Elements.
    List {
        /// The first of them.
        elements: Vec<Data>,
        /// The number of the others.
        more: u64,
    },
    /// Members by name.
    Fields(Vec<(String, Data)>),
    /// A variant of an enumeration with its data.
    Variant {
        /// The name.
        name: String,
        /// The data; no fields if it has none.
        data: Box<Data>,
    },
    /// Members that are not shown, since they are nested too deeply.
    Elided,
    /// The value cannot be read: the reason.
    Unknown(&'static str),
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Signed(value) => write!(f, "{value}"),
            Data::Unsigned(value) => write!(f, "{value}"),
            Data::Wide(value) => write!(f, "{value}"),
            Data::Single(bits) => write!(f, "{:?}", f32::from_bits(*bits)),
            Data::Double(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
            Data::Boolean(value) => write!(f, "{value}"),
            Data::Character(value) => write!(f, "{value:?}"),
            Data::Name(name) => f.write_str(name),
            Data::Pointer { text: Some(text), .. } => write!(f, "{text:?}"),
            Data::Pointer { address, target: Some(target), .. } => write!(f, "{address:#x} -> {target}"),
            Data::Pointer { address, .. } => write!(f, "{address:#x}"),
            Data::Text { text, cut } => write!(f, "{text:?}{}", if *cut { "…" } else { "" }),
            Data::List { elements, more } => {
                f.write_str("[")?;
                for (number, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if number == 0 { "" } else { ", " })?;
                }
                if *more > 0 {
                    write!(f, "{}{more} more", if elements.is_empty() { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Data::Fields(fields) => {
                f.write_str("{")?;
                for (number, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if number == 0 { "" } else { ", " })?;
                    if !name.is_empty() {
                        write!(f, "{name}=")?;
                    }
                    write!(f, "{value}")?;
                }
                f.write_str("}")
            }
            Data::Variant { name, data } => match &**data {
                Data::Fields(fields) if fields.is_empty() => f.write_str(name),
                Data::Fields(fields) if fields.iter().all(|(name, _)| is_place(name)) => {
                    write!(f, "{name}(")?;
                    for (number, (_, value)) in fields.iter().enumerate() {
                        write!(f, "{}{value}", if number == 0 { "" } else { ", " })?;
                    }
                    f.write_str(")")
                }
                data => write!(f, "{name}{data}"),
            },
            Data::Elided => f.write_str("{…}"),
            Data::Unknown(reason) => write!(f, "<{reason}>"),
        }
    }
}

/// Whether a name is one that Rust gives the members of a tuple.
fn is_place(name: &str) -> bool {
    name.strip_prefix("__").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
