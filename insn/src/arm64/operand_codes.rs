//! Codes of operands.
//!
//! insn-gen, which writes the table, includes this file.
#![allow(dead_code, reason = "names serve insn-gen alone, some numbers insn alone")]

/// What an operand is: the first byte of its code.
pub(crate) mod kind {
    codes! { u8:
        GENERAL = 1, "X";
        GENERAL_OR_SP = 2, "S";
        SCALAR = 3, "F";
        VECTOR = 4, "V";
        SCALABLE = 5, "Z";
        PREDICATE = 6, "P";
        COUNTER = 7, "N";
        MEMORY = 8, "@";
        IMMEDIATE = 9, "#";
        LABEL = 10, ">";
        CONDITION = 11, "?";
        FLOAT = 12, "~";
        SHIFT = 13, "^";
        SYSTEM = 14, "%";
        STATE = 15, "$";
        LOOKUP = 16, "T";
        ARRAY = 17, "A";
    }
}

/// Functions of a word that no row of bits is.
pub(crate) mod special {
    codes! { u8:
        MASK = 1, "mask";
        SVE_MASK = 2, "svemask";
        BYTES = 3, "bytes";
        SHIFT_LEFT = 4, "immh-left";
        SHIFT_RIGHT = 5, "immh-right";
        FLOAT_13 = 6, "fp13";
        FLOAT_5 = 7, "fp5";
        FLOAT_ABC = 8, "fp-abc";
    }
}

/// Bytes of a code: kind, number of registers or slices, stride or vector group, choice, and three values.
pub(crate) const BYTES: usize = 7;

/// A view: size of the register or its elements, number of elements, and mode. Sizes and numbers are 0, or one more than their logarithm.
pub(crate) mod view {
    pub(crate) const SIZE: u32 = 0;
    pub(crate) const LANES: u32 = 3;
    pub(crate) const MODE: u32 = 6;
    pub(crate) const ZEROING: u8 = 1;
    pub(crate) const MERGING: u8 = 2;
    pub(crate) const HORIZONTAL: u8 = 1;
    pub(crate) const VERTICAL: u8 = 2;
}

/// Shifts and extensions, by their numbers in a choice.
pub(crate) const SHIFTS: [&str; 14] =
    ["lsl", "lsr", "asr", "ror", "uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx", "msl", "mul"];
/// Floating-point constants, by their numbers in a choice.
pub(crate) const FLOATS: [f32; 4] = [0.0, 0.5, 1.0, 2.0];
