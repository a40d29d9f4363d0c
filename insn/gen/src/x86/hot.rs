//! The tables of the hot path: one entry per opcode of the one-byte and 0F maps, modrm lengths, groups.

use super::codes::entry::{
    ALIKE, ANY_MOD, GROUP, GROUP3, GROUPS, HAS_MODRM, IMM64, IMMEDIATE, MODRM, MOFFS, NEAR, small,
};
use super::codes::key::{self, AAA, B, BITS, EXT, L, MEM, PP, REG, RM, STRICT, V, VENDOR, W, WITH_66, Z};
use super::codes::rule::{FLOW, REFUSED};
use super::parse::Form;
use super::rules;
use std::collections::BTreeMap;

/// The hot tables.
pub(crate) struct Hot {
    pub entries: [[u32; 256]; 2],
    pub(crate) modrm: [u8; 256],
    pub groups: Vec<u64>,
}

/// Bytes of a form's immediates at operand sizes 2, 4 and 8.
fn immediates(form: &Form) -> [u32; 3] {
    let mut total = [0; 3];
    for o in &form.operands {
        let add = match (o.place.as_str(), o.size.as_str()) {
            ("I" | "J", "b") => [1; 3],
            ("I", "w") => [2; 3],
            ("I" | "J", "z") => [2, 4, 4],
            ("I", "v") => [2, 4, 8],
            ("A", _) => [4, 6, 6],
            ("O", _) => [8; 3],
            _ => [0; 3],
        };
        for (t, a) in total.iter_mut().zip(add) {
            *t += a;
        }
    }
    total
}

/// All keys of legacy instructions in 64-bit mode with one mandatory prefix and extension.
fn keys(pp: u64, mem: bool, reg: u64) -> impl Iterator<Item = u64> {
    let common = 1 << (PP as u64 + pp)
        | 1 << L
        | 1 << BITS
        | if mem { MEM } else { REG }
        | 1 << (EXT as u64 + reg)
        | STRICT
        | 1 << AAA
        | 1 << Z
        | 1 << B;
    // 66 may accompany the F2 or F3 that selects the form.
    let beside = if pp > 1 { [0, WITH_66] } else { [0; 2] };
    (0..128).map(move |rest: u32| {
        let (w, b, vendor, rm) = (rest & 1, rest >> 1 & 1, rest >> 2 & 1, rest >> 3 & 7);
        common | 1 << (W + w) | 1 << (V + b) | 1 << (VENDOR + vendor) | 1 << (RM + rm) | beside[rest as usize >> 6]
    })
}

/// The flow that matching gives all these keys; `None` if no form fits or the flows differ.
fn outcome(list: &[u64], mut keys: impl Iterator<Item = u64>) -> Option<u64> {
    let of_one = |bits| {
        let rule = list.iter().find(|rule| bits & !**rule & key::ALL == 0)?;
        (rule & REFUSED == 0).then_some(rule >> FLOW & 15)
    };
    let first = keys.next().and_then(of_one)?;
    keys.all(|bits| of_one(bits) == Some(first)).then_some(first)
}

/// The group of an opcode with a mandatory prefix: valid values of modrm's mod and reg, and a flow for each reg.
fn group(list: &[u64], pp: u64) -> u64 {
    let mut group = 0;
    for reg in 0..8 {
        let [memory, register] = [true, false].map(|mem| outcome(list, keys(pp, mem, reg)));
        let Some(flow) = memory.or(register) else { continue };
        // There is one flow for memory and register; the general path handles another one.
        group |= if memory == Some(flow) { 0x01_0101 << reg } else { 0 };
        group |= if register == Some(flow) { 1 << (reg + 24) } else { 0 };
        group |= flow << (32 + 4 * reg);
    }
    group
}

/// Builds the tables from the forms of the one-byte and 0F maps.
pub(crate) fn build(forms: &[Form], slots: &BTreeMap<(usize, u8), Vec<usize>>) -> Hot {
    // Group 0 is that of no form.
    let mut groups = vec![0];
    let mut entries = [[0; 256]; 2];
    for (space, row) in entries.iter_mut().enumerate() {
        for (opcode, slot) in row.iter_mut().enumerate() {
            if let Some(list) = slots.get(&(space, opcode as u8)) {
                let forms: Vec<&Form> = list.iter().map(|i| &forms[*i]).collect();
                *slot = entry(&forms, &mut groups);
            }
            let op = opcode as u8;
            let special = match space {
                // Prefixes, escapes and what begins VEX, EVEX, XOP or REX2.
                0 => {
                    matches!(op, 0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x62 | 0x64..=0x67 | 0x8f | 0xc4 | 0xc5 | 0xd5 | 0xf0 | 0xf2 | 0xf3)
                }
                // Escapes, and UD0 and UD1 whose modrm depends on the vendor.
                _ => matches!(op, 0x0f | 0x38 | 0x3a | 0xb9 | 0xff),
            };
            if special {
                *slot &= !(15 * ALIKE);
            }
        }
    }
    Hot { entries, modrm: modrm(), groups }
}

fn entry(forms: &[&Form], groups: &mut Vec<u64>) -> u32 {
    let rules: Vec<u64> = forms.iter().flat_map(|f| rules::rules(f)).collect();
    // Immediates are those of forms without prefix.
    let (prefixed, plain): (Vec<&Form>, Vec<&Form>) =
        forms.iter().partition(|f| f.cond.iter().any(|c| matches!(c.as_str(), "66" | "f3" | "f2")));
    let mut entry = 0;
    let sizes: Vec<[u32; 3]> = plain.iter().map(|f| immediates(f)).collect();
    let most = sizes.iter().max().copied().unwrap_or([0; 3]);
    let modrm = forms.iter().any(|f| f.has_modrm());
    if modrm {
        entry |= MODRM | HAS_MODRM;
    }
    entry |= most[1] << IMMEDIATE;
    assert_eq!(small(most[1]), most[0], "the immediates of opcode {:x} shrink in another way", forms[0].opcode);
    if most[2] != most[1] {
        assert_eq!(most[2], 8, "an immediate of REX.W is of eight bytes");
        entry |= IMM64;
    }
    if most != [0; 3] && sizes.contains(&[0; 3]) && matches!(forms[0].opcode, 0xf6 | 0xf7) {
        entry |= GROUP3;
    }
    if forms.iter().any(|f| f.uses("J") && f.has("f64")) {
        entry |= NEAR;
    }
    if forms.iter().any(|f| f.uses("O")) {
        entry |= MOFFS;
    }
    if forms.iter().any(|f| f.has("anymod")) {
        return entry | ANY_MOD;
    }
    let by_prefix = [0, 1, 2, 3].map(|pp| group(&rules, pp));
    let group = by_prefix.into_iter().find(|group| *group != 0).unwrap_or(0);
    if group == 0 || !modrm && group as u32 != u32::MAX {
        return entry;
    }
    let own_immediates = prefixed.iter().any(|f| immediates(f) != most);
    for (pp, of_prefix) in by_prefix.into_iter().enumerate() {
        // 66 before a near branch depends on the vendor, and a prefix may select a form with another immediate.
        let otherwise = pp != 0 && (own_immediates || entry & NEAR != 0);
        if of_prefix == group && !otherwise {
            entry |= ALIKE << pp;
        }
    }
    let index = groups.iter().position(|g| *g == group).unwrap_or_else(|| {
        groups.push(group);
        groups.len() - 1
    });
    assert!(index < GROUPS, "more groups than the entry's field holds");
    entry | (index as u32) << GROUP
}

/// For each modrm byte with 32 or 64-bit addressing: number of bytes of modrm, SIB byte and displacement; bit 4: there is a SIB byte; bit 5:
/// four more bytes if its base is 5.
fn modrm() -> [u8; 256] {
    std::array::from_fn(|byte| {
        let (mode, rm) = (byte >> 6, byte & 7);
        let displacement = match mode {
            0 if rm == 5 => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        let sib = mode != 3 && rm == 4;
        1 + displacement + if sib { 0x11 } else { 0 } + if sib && mode == 0 { 0x20 } else { 0 }
    })
}
