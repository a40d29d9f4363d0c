//! Does an instruction fit a form? Keys, rules and the reason of a refusal.
//!
//! Each field of an instruction contributes one bit to its key, out of those below; a rule has the bits that a form
//! allows. insn/gen/src/x86/rules.rs writes the rules.

use super::ErrorKind;
use super::generated::validity::{HIGH, LISTS, LOW, MIDDLE, PAGES, ROWS, RULES};

pub(super) const PP: u32 = 0;
pub(super) const W: u32 = 4;
pub(super) const L: u32 = 6;
pub(super) const BITS: u32 = 10;
pub(super) const VENDOR: u32 = 12;
pub(super) const MEM: u64 = 1 << 14;
pub(super) const REG: u64 = 1 << 15;
pub(super) const EXT: u32 = 16;
pub(super) const RM: u32 = 24;
/// vvvv and V' unused, only V' used, vvvv used; legacy: B clear, B set.
pub(super) const V: u32 = 32;
/// aaa = 0, 4, other.
pub(super) const AAA: u32 = 35;
/// z = 0, z with a mask, z without.
pub(super) const Z: u32 = 38;
/// b = 0, b with memory, b with a register.
pub(super) const B: u32 = 41;
pub(super) const LOCK_MEM: u64 = 1 << 44;
pub(super) const LOCK_REG: u64 = 1 << 45;
/// 66 beside F2 or F3, in legacy spaces.
pub(super) const WITH_66: u64 = 1 << 60;
pub(super) const STRICT: u64 = 1 << 56;
/// In keys of strict modes for what no rule allows there.
pub(super) const RESERVED: u64 = 1 << 57;
/// b with a register, ignored.
pub(super) const IGNORED_B: u64 = 1 << 58;
const KEY: u64 = ((1 << 46) - 1) | STRICT | RESERVED | IGNORED_B | WITH_66;

/// What a form says of an instruction that fits it.
#[derive(Clone, Copy)]
pub(super) struct Rule(u64);

impl Rule {
    /// 0 no immediate, 1 a byte, 2 by operand size (2 or 4), 3 two bytes.
    pub(super) fn immediate(self) -> u8 {
        (self.0 >> 46 & 3) as u8
    }
    pub(super) fn flow(self) -> u8 {
        (self.0 >> 48 & 15) as u8
    }
    /// What else is to be checked: registers that must differ (1 VEX gather, 2 EVEX gather, 3 tiles, 4 destination and
    /// sources, 9 `pop2`), be below 8 (3 and 7 tiles, 5 and 8 modrm.reg, 6 modrm.reg and vvvv) or not rsp (9, 10 `push2`).
    pub(super) fn check(self) -> u8 {
        (self.0 >> 52 & 15) as u8
    }
    /// Whether memory must be addressed with a SIB byte.
    pub(super) fn needs_sib(self) -> bool {
        self.0 >> RM & 0xff == 0x10
    }
}

/// Start of the list of an opcode's rules; 0 where there is none.
pub(super) fn list(space: u8, opcode: u8) -> usize {
    let row = ROWS.get(usize::from(space)).map_or(0, |row: &[u8; 32]| row[usize::from(opcode >> 3)]);
    PAGES.get(usize::from(row)).map_or(0, |page: &[u16; 8]| usize::from(page[usize::from(opcode & 7)]))
}

/// Whether no rule follows this one of a list.
pub(super) fn is_last(item: usize) -> bool {
    LISTS.get(item).is_some_and(|item| item & 0x8000 != 0)
}

/// The rule of a number, put together from its parts.
fn rule(number: usize) -> Option<u64> {
    let [low, middle, high] = RULES.get(number)?.map(usize::from);
    let (low, middle, high) = (LOW.get(low)?, MIDDLE.get(middle)?, HIGH.get(high)?);
    Some(u64::from(*low) | u64::from(*middle) << 16 | u64::from(*high) << 32)
}

/// The first rule of the list that the key fits, with its place in the list.
#[inline(never)]
pub(super) fn find(list: usize, key: u64) -> Option<(usize, Rule)> {
    if list == 0 {
        return None;
    }
    for (i, item) in LISTS.get(list..)?.iter().enumerate() {
        let rule = rule(usize::from(item & 0x7fff))?;
        if key & !rule & KEY == 0 {
            return (rule >> 59 & 1 == 0).then_some((i, Rule(rule)));
        }
        if item & 0x8000 != 0 {
            break;
        }
    }
    None
}

/// The key without what may be reserved.
pub(super) fn without_reserved(key: u64) -> u64 {
    key & !(RESERVED | IGNORED_B | 7 << V | 7 << AAA | 7 << Z | 7 << B)
}

/// Whether a rule of the list fits; one copy of the search for all that is asked of a refused encoding.
#[inline(never)]
fn fits(list: usize, key: u64) -> bool {
    find(list, key).is_some()
}

/// Why no rule fits.
#[cold]
pub(super) fn reason(list: usize, key: u64) -> ErrorKind {
    let fits = |key| fits(list, key);
    if list == 0 {
        return ErrorKind::Opcode;
    }
    let unlocked = key & !(LOCK_MEM | LOCK_REG);
    if fits(unlocked) && unlocked != key {
        return ErrorKind::Lock;
    }
    if unlocked & WITH_66 != 0 && fits(unlocked & !WITH_66) {
        return ErrorKind::Prefix;
    }
    if fits(without_reserved(unlocked)) {
        return ErrorKind::Reserved;
    }
    if fits(unlocked ^ (MEM | REG)) {
        return ErrorKind::Operand;
    }
    let any_prefix = (0..4).any(|pp| fits(unlocked & !(15 << PP) | 1 << (PP + pp)));
    if any_prefix { ErrorKind::Prefix } else { ErrorKind::Opcode }
}
