//! Registers and sets of them.

use core::fmt;

use super::codes::{bank, each_register};

/// One register, whatever width is used of it (`al`, `ax`, `eax` and `rax` are one; so are `xmm0`, `ymm0`, `zmm0`;
/// `ah` is part of `rax`; `mm0` and `st0`'s physical register are one).
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
    /// General register 0 to 31 (16 to 31 are APX's).
    pub const fn gpr(n: u8) -> Reg {
        Reg(n & 31)
    }
    /// Vector register 0 to 31.
    pub const fn vector(n: u8) -> Reg {
        Reg(bank::VECTOR + (n & 31))
    }
    /// Mask register k0 to k7.
    pub const fn mask(n: u8) -> Reg {
        Reg(bank::MASK + (n & 7))
    }
    /// MMX register, which is also the mantissa of the x87 register of that physical number.
    pub const fn mmx(n: u8) -> Reg {
        Reg(bank::MMX + (n & 7))
    }
    /// Bound register bnd0 to bnd3.
    pub const fn bound(n: u8) -> Reg {
        Reg(bank::BOUND + (n & 3))
    }
    /// Segment register in the encoding's order: es, cs, ss, ds, fs, gs.
    pub const fn segment(n: u8) -> Reg {
        Reg(bank::SEGMENT + if n > 5 { 5 } else { n })
    }
    /// AMX tile tmm0 to tmm7.
    pub const fn tile(n: u8) -> Reg {
        Reg(bank::TILE + (n & 7))
    }
    /// The register of that number in [`RegSet`]'s bits, 0 to 127.
    pub const fn from_number(number: u8) -> Reg {
        Reg(number & 127)
    }
    /// The register's number in [`RegSet`]'s bits, 0 to 127.
    pub const fn number(self) -> u8 {
        self.0
    }
    /// The general register's number, where it is one.
    pub const fn as_gpr(self) -> Option<u8> {
        if self.0 < 32 { Some(self.0) } else { None }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        if let Some((_, name)) = NAMES.iter().find(|(value, _)| *value == n) {
            return f.write_str(name);
        }
        match n {
            0..32 => write!(f, "r{n}"),
            32..64 => write!(f, "zmm{}", n - 32),
            64..72 => write!(f, "k{}", n - 64),
            72..80 => write!(f, "mm{}", n - 72),
            80..84 => write!(f, "bnd{}", n - 80),
            104..112 => write!(f, "tmm{}", n - 104),
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

/// Bits of EFLAGS, at their architectural positions (SDM vol. 1, 3.4.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u32);

impl Flags {
    /// No flag.
    pub const EMPTY: Flags = Flags(0);
    /// Carry.
    pub const CF: Flags = Flags(1);
    /// Parity.
    pub const PF: Flags = Flags(1 << 2);
    /// Auxiliary carry.
    pub const AF: Flags = Flags(1 << 4);
    /// Zero.
    pub const ZF: Flags = Flags(1 << 6);
    /// Sign.
    pub const SF: Flags = Flags(1 << 7);
    /// Trap.
    pub const TF: Flags = Flags(1 << 8);
    /// Interrupt enable.
    pub const IF: Flags = Flags(1 << 9);
    /// Direction.
    pub const DF: Flags = Flags(1 << 10);
    /// Overflow.
    pub const OF: Flags = Flags(1 << 11);
    /// I/O privilege level.
    pub const IOPL: Flags = Flags(3 << 12);
    /// Nested task.
    pub const NT: Flags = Flags(1 << 14);
    /// Resume.
    pub const RF: Flags = Flags(1 << 16);
    /// Virtual-8086 mode.
    pub const VM: Flags = Flags(1 << 17);
    /// Alignment check.
    pub const AC: Flags = Flags(1 << 18);
    /// Virtual interrupt.
    pub const VIF: Flags = Flags(1 << 19);
    /// Virtual interrupt pending.
    pub const VIP: Flags = Flags(1 << 20);
    /// CPUID can be used.
    pub const ID: Flags = Flags(1 << 21);
    /// CF, PF, AF, ZF, SF, OF.
    pub const STATUS: Flags = Flags(0x8d5);

    /// The set of the given bits.
    pub const fn from_bits(bits: u32) -> Flags {
        Flags(bits)
    }
    /// The bits.
    pub const fn bits(self) -> u32 {
        self.0
    }
    /// What is in either.
    #[must_use]
    pub const fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The flags that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
    /// The flags of this set that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// Whether the set contains all flags of `other`.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether no bit is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(u32, &str); 17] = [
            (0, "cf"),
            (2, "pf"),
            (4, "af"),
            (6, "zf"),
            (7, "sf"),
            (8, "tf"),
            (9, "if"),
            (10, "df"),
            (11, "of"),
            (12, "iopl"),
            (14, "nt"),
            (16, "rf"),
            (17, "vm"),
            (18, "ac"),
            (19, "vif"),
            (20, "vip"),
            (21, "id"),
        ];
        let mut set = f.debug_set();
        for (bit, name) in NAMES {
            if self.0 >> bit & 1 != 0 {
                set.entry(&format_args!("{name}"));
            }
        }
        set.finish()
    }
}
