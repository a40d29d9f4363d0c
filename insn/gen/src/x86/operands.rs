//! The codes of operands that are registers or elements of strings.

use super::codes::{bank, operand, register_bank, source};
use super::parse::{Form, Operand, Use};

/// The registers that an operand can name itself, and their numbers in a register set.
const FIXED: &[(&str, u8)] = &[
    ("al", 0),
    ("rax", 0),
    ("rcx", 1),
    ("rdx", 2),
    ("rbx", 3),
    ("es", bank::SEGMENT),
    ("cs", bank::SEGMENT + 1),
    ("ss", bank::SEGMENT + 2),
    ("ds", bank::SEGMENT + 3),
    ("fs", bank::SEGMENT + 4),
    ("gs", bank::SEGMENT + 5),
    ("xmm0", bank::VECTOR),
];

/// The places whose register a field names, with that field and the bank.
const PLACES: &[(&str, u16, u16)] = &[
    ("E", source::RM, register_bank::GENERAL),
    ("R", source::RM, register_bank::GENERAL),
    ("Z", source::RM, register_bank::GENERAL),
    ("G", source::REG, register_bank::GENERAL),
    ("B", source::VVVV, register_bank::GENERAL),
    ("W", source::RM_VECTOR, register_bank::VECTOR),
    ("U", source::RM_VECTOR, register_bank::VECTOR),
    ("V", source::REG_VECTOR, register_bank::VECTOR),
    ("H", source::VVVV, register_bank::VECTOR),
    ("L", source::IMMEDIATE, register_bank::VECTOR),
    ("Q", source::RM, register_bank::MMX),
    ("N", source::RM, register_bank::MMX),
    ("P", source::REG, register_bank::MMX),
    ("S", source::REG, register_bank::SEGMENT),
    ("C", source::REG, register_bank::SYSTEM),
    ("D", source::REG, register_bank::SYSTEM),
    ("KG", source::REG, register_bank::MASK),
    ("KH", source::VVVV, register_bank::MASK),
    ("KR", source::RM, register_bank::MASK),
    ("KE", source::RM, register_bank::MASK),
    ("TG", source::REG, register_bank::TILE),
    ("TR", source::RM, register_bank::TILE),
    ("TH", source::VVVV, register_bank::TILE),
    ("BG", source::REG, register_bank::BOUND),
    ("BE", source::RM, register_bank::BOUND),
];

/// The places that can be memory.
const EITHER: &[&str] = &["E", "W", "Q", "KE", "BE"];

impl Operand {
    /// The number of the register that the operand itself names, in a register set.
    pub(crate) fn fixed(&self) -> Option<u8> {
        FIXED.iter().find(|(name, _)| *name == self.place).map(|(_, number)| *number)
    }
    pub(crate) fn is_byte(&self) -> bool {
        self.size == "b" || self.place == "al"
    }
    /// Whether its size is the operand size.
    pub(crate) fn is_sized(&self) -> bool {
        ["v", "w", "z", ""].contains(&self.size.as_str())
    }
    pub(crate) fn is_read(&self) -> bool {
        matches!(self.access, Use::Read | Use::ReadWrite)
    }
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.access, Use::Write | Use::ReadWrite)
    }
}

/// The operand's code; `None` if no field names a register for it and it is no element of a string.
pub(crate) fn code(form: &Form, used: &Operand) -> Option<u16> {
    let access = (used.access as u16) << operand::ACCESS;
    match used.place.as_str() {
        "X" => return Some(access | operand::SOURCE_STRING),
        "Y" => return Some(access | operand::DESTINATION_STRING),
        _ => {}
    }
    let (place, from, bank) = PLACES.iter().find(|(place, ..)| *place == used.place)?;
    let count = match *place {
        "H" if form.has("quad") => 2,
        "KG" | "TG" if form.has("pair") => 1,
        _ => 0,
    };
    let flag = |holds, bit| if holds { bit } else { 0 };
    Some(
        from | bank << operand::BANK
            | access
            | count << operand::COUNT
            | flag(used.is_byte(), operand::BYTE)
            | flag(used.is_sized(), operand::SIZED)
            | flag(EITHER.contains(place), operand::REGISTER_FORM),
    )
}
