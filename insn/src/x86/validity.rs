//! Validity: rules that an instruction's key must fit, and reasons for refusal.
//!
//! Each field of an instruction contributes one bit to its key, and a rule has the bits that a form allows ([`super::codes::key`]).
//! insn/gen/src/x86/rules.rs writes the rules.

use super::ErrorKind;
use super::codes::key::{self, AAA, B, IGNORED_B, LOCK_MEM, LOCK_REG, MEM, PP, REG, RESERVED, RM, V, WITH_66, Z};
use super::codes::rule;
use super::generated::validity::{HIGH, LISTS, LOW, MIDDLE, PAGES, ROWS, RULES};

/// A rule: the keys that a form allows, and what it says of instructions that fit.
#[derive(Clone, Copy)]
pub(super) struct Rule(u64);

impl Rule {
    /// One of [`rule::immediate`].
    pub(super) fn immediate(self) -> u8 {
        (self.0 >> rule::IMMEDIATE & 3) as u8
    }
    /// One of [`super::codes::flow`].
    pub(super) fn flow(self) -> u8 {
        (self.0 >> rule::FLOW & 15) as u8
    }
    /// One of [`rule::check`].
    pub(super) fn check(self) -> u8 {
        (self.0 >> rule::CHECK & 15) as u8
    }
    /// Whether memory must be addressed with a SIB byte.
    pub(super) fn needs_sib(self) -> bool {
        self.0 >> RM & 0xff == 0x10
    }
}

/// The start of an opcode's list of rules; 0 if it has none.
pub(super) fn list(space: u8, opcode: u8) -> usize {
    let row = ROWS.get(usize::from(space)).map_or(0, |row: &[u8; 32]| row[usize::from(opcode >> 3)]);
    PAGES.get(usize::from(row)).map_or(0, |page: &[u16; 8]| usize::from(page[usize::from(opcode & 7)]))
}

/// Whether the rule is the last of its list.
pub(super) fn is_last(item: usize) -> bool {
    LISTS.get(item).is_some_and(|item| item & 0x8000 != 0)
}

/// The rule with the given number, composed of its parts.
fn numbered(number: usize) -> Option<u64> {
    let [low, middle, high] = RULES.get(number)?.map(usize::from);
    let (low, middle, high) = (LOW.get(low)?, MIDDLE.get(middle)?, HIGH.get(high)?);
    Some(u64::from(*low) | u64::from(*middle) << 16 | u64::from(*high) << 32)
}

/// The first rule of the list that the key fits, with its index in the list.
#[inline(never)]
pub(super) fn find(list: usize, key: u64) -> Option<(usize, Rule)> {
    if list == 0 {
        return None;
    }
    for (i, item) in LISTS.get(list..)?.iter().enumerate() {
        let rule = numbered(usize::from(item & 0x7fff))?;
        if key & !rule & key::ALL == 0 {
            return (rule & rule::REFUSED == 0).then_some((i, Rule(rule)));
        }
        if item & 0x8000 != 0 {
            break;
        }
    }
    None
}

/// The key without fields that may be reserved.
pub(super) fn without_reserved(key: u64) -> u64 {
    key & !(RESERVED | IGNORED_B | 7 << V | 7 << AAA | 7 << Z | 7 << B)
}

/// Whether a rule of the list fits. It is not inlined, so that there is one copy of the search for refused encodings.
#[inline(never)]
fn fits(list: usize, key: u64) -> bool {
    find(list, key).is_some()
}

/// The reason why no rule fits.
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
