//! Registers, sets of registers, and flags.

use core::fmt;

use super::codes::{bank, each_register};

/// A register, whatever part of it is used: `w0` and `x0` are one register, so are `b0`, `s0`, `v0` and `z0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(u8);

macro_rules! registers {
    ($($name:ident = $value:expr, $text:literal;)*) => {
        impl Reg {
            $(#[doc = concat!("`", $text, "`")] pub const $name: Reg = Reg($value);)*
        }
        /// Names of the registers that are not in a numbered bank.
        const NAMES: &[(u8, &str)] = &[$(($value, $text)),*];
    };
}

each_register!(registers);

impl Reg {
    /// The link register.
    pub const X30: Reg = Reg(30);

    /// General register 0 to 30; 31 is [`Reg::XZR`].
    pub const fn general(n: u32) -> Reg {
        Reg(n as u8 & 31)
    }
    /// General register 0 to 30; 31 is [`Reg::SP`].
    pub const fn general_or_sp(n: u32) -> Reg {
        if n & 31 == 31 { Reg::SP } else { Reg::general(n) }
    }
    /// SIMD and SVE register 0 to 31.
    pub const fn vector(n: u32) -> Reg {
        Reg(bank::VECTOR + (n as u8 & 31))
    }
    /// SVE predicate register p0 to p15.
    pub const fn predicate(n: u32) -> Reg {
        Reg(bank::PREDICATE + (n as u8 & 15))
    }
    /// The register with a number in [`RegSet`]'s bits, 0 to 127.
    pub const fn from_number(number: u8) -> Reg {
        Reg(number & 127)
    }
    /// The register's number in [`RegSet`]'s bits, 0 to 127.
    pub const fn number(self) -> u8 {
        self.0
    }
    /// The number of a general register x0 to x30; `None` for other registers.
    pub const fn as_general(self) -> Option<u8> {
        if self.0 < 31 { Some(self.0) } else { None }
    }
    /// The number of a register v0 to v31, the low parts of z0 to z31; `None` for other registers.
    pub const fn as_vector(self) -> Option<u8> {
        if self.0 >= 32 && self.0 < 64 { Some(self.0 - 32) } else { None }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        if let Some((_, name)) = NAMES.iter().find(|(value, _)| *value == n) {
            return f.write_str(name);
        }
        match n {
            0..=30 => write!(f, "x{n}"),
            32..64 => write!(f, "z{}", n - 32),
            64..80 => write!(f, "p{}", n - 64),
            _ => write!(f, "reg{n}"),
        }
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

register_set!();

/// A set of condition flags: bits 31 to 28 of the register NZCV, moved to bits 3 to 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Nzcv(u8);

impl Nzcv {
    /// No flag.
    pub const EMPTY: Nzcv = Nzcv(0);
    /// Overflow.
    pub const V: Nzcv = Nzcv(1);
    /// Carry.
    pub const C: Nzcv = Nzcv(2);
    /// Zero.
    pub const Z: Nzcv = Nzcv(4);
    /// Negative.
    pub const N: Nzcv = Nzcv(8);
    /// All four flags.
    pub const ALL: Nzcv = Nzcv(15);

    /// The set with the given bits.
    pub const fn from_bits(bits: u8) -> Nzcv {
        Nzcv(bits & 15)
    }
    /// The set as bits.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// The flags in either set.
    #[must_use]
    pub const fn union(self, other: Nzcv) -> Nzcv {
        Nzcv(self.0 | other.0)
    }
    /// The flags that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Nzcv) -> Nzcv {
        Nzcv(self.0 & other.0)
    }
    /// The flags of this set that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Nzcv) -> Nzcv {
        Nzcv(self.0 & !other.0)
    }
    /// The flags that are not in the set.
    #[must_use]
    pub const fn complement(self) -> Nzcv {
        Nzcv::ALL.difference(self)
    }
    /// Whether the set contains all flags of `other`.
    pub const fn contains(self, other: Nzcv) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for Nzcv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        for (bit, name) in [(8, "n"), (4, "z"), (2, "c"), (1, "v")] {
            if self.0 & bit != 0 {
                set.entry(&format_args!("{name}"));
            }
        }
        set.finish()
    }
}
