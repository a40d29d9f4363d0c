//! The kinds of opcodes whose lengths vectors tell, and their properties. Everything is computed from the hot tables.

use super::super::codes::entry::{ALIKE, GROUP, GROUP3, IMM64, IMMEDIATE, MODRM, small};
use super::super::generated::hot::HOT;
use super::factor::{Term, terms};
use super::state::{GROWS, PLAIN, SHRINKS, WITH_66, WITH_F2, WITH_F3};

/// An opcode of each kind of the one-byte map, by the kind's number. Opcodes are of one kind if the hot table tells the same of them, but for the
/// flow. Number 0 is the kind of all other opcodes: the hot tables tell nothing of 0F. The order is one that needs few terms.
const ONE: [u8; 16] = [0x0f, 0x50, 0x01, 0xc6, 0x68, 0x70, 0x81, 0xe8, 0x8d, 0xff, 0xf6, 0xf7, 0x80, 0xb8, 0xc7, 0xeb];
/// The same of the 0F map, without opcodes for which modrm can be invalid. 0F fills the places of numbers that would make more terms.
const TWO: [u8; 16] = [0x0f, 0x6f, 0x28, 0x6c, 0x05, 0x0f, 0x70, 0x0f, 0x1f, 0x16, 0x80, 0x0f, 0xb8, 0x0f, 0xc6, 0x0f];

/// In an entry: the bits that tell with which prefixes the group decides.
const ANY_PREFIX: u32 = 15 * ALIKE;

/// The number of terms of [`KINDS`].
pub(super) const TERMS: usize = 8;
/// The kinds of a byte: of the one-byte map in the low nibble, of the 0F map in the high one.
pub(super) static KINDS: [Term; TERMS] = {
    let (mut kinds, mut at) = ([0; 256], 0);
    while at < 256 {
        kinds[at] = kind(&HOT.one_byte, &ONE, at) | kind(&HOT.two_byte, &TWO, at) << 4;
        at += 1;
    }
    terms(&kinds)
};

/// Properties by the number of the kind.
pub(super) struct Properties {
    /// The state without modrm and what it brings along: the length counts from the opcode, or from the 0F before it.
    pub(super) state: [u8; 16],
    /// A mask of the number of bytes of modrm and what it brings along.
    pub(super) operand: [u8; 16],
    /// The classes whose modrm bytes are valid ([`VALID`]); with them [`TEST_BYTE`] and [`TEST`].
    pub(super) classes: [u8; 16],
    /// How prefixes change the immediate.
    pub(super) sizes: [u8; 16],
}

/// The kinds of the one-byte map.
pub(super) static ONE_BYTE_KINDS: Properties = properties(&HOT.one_byte, &ONE, 1);
/// The kinds of the 0F map.
pub(super) static TWO_BYTE_KINDS: Properties = properties(&HOT.two_byte, &TWO, 2);

/// A bit of a class and of modrm bytes: the group is F6, and the instruction has no immediate. The bit is the number of bytes that it lacks.
pub(super) const TEST_BYTE: u8 = 1;
/// The same of F7.
pub(super) const TEST: u8 = 4;
/// The bits of the other classes.
const CLASSES: [u8; 6] = [0x02, 0x08, 0x10, 0x20, 0x40, 0x80];

/// For modrm bytes the product of both tables has the bits of the classes that contain it.
pub(super) static VALID: Term = {
    let mut valid = Term { low: [TEST_BYTE | TEST; 16], high: [0; 16] };
    let mut nibble = 0;
    while nibble < 16 {
        // Only modrm.reg 0 and 1 have an immediate.
        valid.high[nibble] = if nibble & 3 != 0 { TEST_BYTE | TEST } else { 0 };
        let mut class = 0;
        while class < CLASSES.len() {
            let (low, high) = SETS[class];
            valid.low[nibble] |= if low >> nibble & 1 != 0 { CLASSES[class] } else { 0 };
            valid.high[nibble] |= if high >> nibble & 1 != 0 { CLASSES[class] } else { 0 };
            class += 1;
        }
        nibble += 1;
    }
    valid
};

/// A set of modrm bytes: those whose low nibble is in the first set and whose high nibble is in the second.
type Set = (u16, u16);

/// The sets of all classes: those that the kinds of the one-byte map need.
const SETS: [Set; CLASSES.len()] = {
    let (mut sets, mut number) = ([(0, 0); CLASSES.len()], 0);
    let mut at = 0;
    while at < 2 * ONE.len() {
        let set = halves(valid(HOT.one_byte[ONE[at / 2] as usize]))[at % 2];
        if set.1 != 0 && position(&sets, set) == CLASSES.len() {
            sets[number] = set;
            number += 1;
        }
        at += 1;
    }
    sets
};

/// The number of a set among all.
const fn position(sets: &[Set; CLASSES.len()], set: Set) -> usize {
    let mut at = 0;
    while at < sets.len() && !(sets[at].0 == set.0 && sets[at].1 == set.1) {
        at += 1;
    }
    at
}

/// The modrm bytes of which mod and reg have their bit, as two sets: by the lowest bit of reg, which the low nibble has. Where the bit does not
/// matter, the first set is that of all bytes, and the second is empty.
const fn halves(valid: u32) -> [Set; 2] {
    let (mut even, mut odd, mut nibble) = (0, 0, 0);
    while nibble < 16 {
        even |= ((valid >> (2 * nibble) & 1) as u16) << nibble;
        odd |= ((valid >> (2 * nibble + 1) & 1) as u16) << nibble;
        nibble += 1;
    }
    if even == odd { [(0xffff, even), (0, 0)] } else { [(0x00ff, even), (0xff00, odd)] }
}

/// The valid values of modrm's mod and reg; none if the hot tables do not tell.
const fn valid(entry: u32) -> u32 {
    if !is_told(entry) { 0 } else { HOT.groups[(entry >> GROUP) as usize] as u32 }
}

/// The number of the kind of an opcode.
const fn kind(table: &[u32; 256], kinds: &[u8; 16], opcode: usize) -> u8 {
    const COUNTS: u32 = MODRM | IMM64 | GROUP3 | 0xff << IMMEDIATE | ANY_PREFIX;
    let (entry, mut kind) = (table[opcode], 15);
    while kind > 0 {
        let other = table[kinds[kind] as usize];
        if is_told(other) && entry & COUNTS == other & COUNTS && valid(entry) == valid(other) {
            break;
        }
        kind -= 1;
    }
    kind as u8
}

/// Whether the hot tables tell of an opcode, without prefix or behind one.
const fn is_told(entry: u32) -> bool {
    entry & ANY_PREFIX != 0
}

const fn properties(table: &[u32; 256], kinds: &[u8; 16], first: u32) -> Properties {
    let mut all = Properties { state: [0; 16], operand: [0; 16], classes: [0; 16], sizes: [0; 16] };
    let mut kind = 1;
    while kind < 16 {
        let entry = table[kinds[kind] as usize];
        let immediate = entry >> IMMEDIATE & 0xff;
        let small = small(immediate);
        assert!(matches!(immediate, 0 | 1 | 4) && (immediate == small || immediate - small == SHRINKS as u32));
        all.classes[kind] = if first == 1 { classes(valid(entry)) } else { 0 };
        all.operand[kind] = if entry & MODRM != 0 { 7 } else { 0 };
        let mut state = (first + immediate) as u8;
        let mut with_66 = entry & ALIKE << 1 != 0;
        if entry & GROUP3 != 0 {
            all.classes[kind] |= if immediate == 4 { TEST } else { TEST_BYTE };
            // Of 66 F7 a vector does not tell the length.
            with_66 &= immediate == small;
        }
        state |= if entry & ALIKE != 0 { PLAIN } else { 0 };
        state |= if with_66 { WITH_66 } else { 0 };
        state |= if entry & ALIKE << 2 != 0 { WITH_F3 } else { 0 };
        state |= if entry & ALIKE << 3 != 0 { WITH_F2 } else { 0 };
        all.state[kind] = state;
        let shrinks = if with_66 && immediate != small { SHRINKS } else { 0 };
        let grows = if entry & IMM64 != 0 { GROWS } else { 0 };
        all.sizes[kind] = shrinks | grows;
        // Vectors look at classes and sizes of the one-byte map alone.
        let is_simple = all.sizes[kind] == 0 && entry & GROUP3 == 0 && valid(entry) == u32::MAX;
        assert!(first == 1 || is_simple || !is_told(entry));
        kind += 1;
    }
    all
}

/// The classes that together contain the valid modrm bytes.
const fn classes(valid: u32) -> u8 {
    let [even, odd] = halves(valid);
    class(even) | class(odd)
}

/// The bit of a set; none of the empty one.
const fn class(set: Set) -> u8 {
    if set.1 == 0 { 0 } else { CLASSES[position(&SETS, set)] }
}

/// The number of terms of [`PREFIX_BYTES`].
pub(super) const PREFIX_TERMS: usize = 2;
/// For a prefix that selects a form or a segment: what the state behind it must have, and [`SHRINKS`] for 66.
pub(super) static PREFIX_BYTES: [Term; PREFIX_TERMS] = {
    let mut bytes = [0; 256];
    bytes[0x66] = WITH_66 | SHRINKS;
    bytes[0xf3] = WITH_F3;
    bytes[0xf2] = WITH_F2;
    let (segments, mut at) = ([0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65], 0);
    while at < segments.len() {
        bytes[segments[at]] = PLAIN;
        at += 1;
    }
    terms(&bytes)
};
