//! The tables of the hot path: one entry per opcode of the one-byte and 0F maps, modrm lengths, groups.

use crate::parse::Form;
use crate::rules::{self, BITS, EXT, FLOW, KEY, L, MEM, PP, REFUSED, REG, RM, V, VENDOR, W, Z};
use std::collections::BTreeMap;

/// All six bits that `MODRM` yields, where a modrm byte follows: masks what the table says.
pub(crate) const MODRM: u32 = 0x3f;
const IMM64: u32 = 1 << 6;
const GROUP3: u32 = 1 << 7;
const BASE_SHIFT: u32 = 8;
const SMALL_SHIFT: u32 = 12;
const FLOW_SHIFT: u32 = 16;
const GROUP_SHIFT: u32 = 20;
const SPECIAL: u32 = 1 << 25;
const RULES: u32 = 1 << 26;
const NEAR: u32 = 1 << 27;
const MOFFS: u32 = 1 << 28;
const ANY_MOD: u32 = 1 << 29;
/// Groups that an entry can name, none included.
pub(crate) const GROUPS: usize = 32;

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

/// Key of a legacy instruction in 64-bit mode.
fn key(pp: u64, w: u64, b: u64, vendor: u64, mem: bool, reg: u64, rm: u64) -> u64 {
    let mode = if mem { MEM } else { REG };
    1 << (PP as u64 + pp)
        | 1 << (W as u64 + w)
        | 1 << L
        | 1 << BITS
        | 1 << (VENDOR as u64 + vendor)
        | mode
        | 1 << (EXT as u64 + reg)
        | 1 << (RM as u64 + rm)
        | 1 << (V as u64 + b)
        | rules::STRICT
        | 1 << rules::AAA
        | 1 << Z
        | 1 << rules::B
}

/// What matching says: the flow, or nothing where no form fits.
fn outcome(list: &[u64], key: u64) -> Option<u64> {
    let rule = list.iter().find(|rule| key & !**rule & KEY == 0)?;
    (rule & REFUSED == 0).then_some(rule >> FLOW & 15)
}

/// Builds the tables from the forms of the one-byte and 0F maps.
pub(crate) fn build(forms: &[Form], slots: &BTreeMap<(usize, u8), Vec<usize>>) -> Hot {
    let mut groups = vec![0xffff];
    let mut entries = [[SPECIAL; 256]; 2];
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
                *slot |= SPECIAL;
            }
        }
    }
    Hot { entries, modrm: modrm(), groups }
}

fn entry(forms: &[&Form], groups: &mut Vec<u64>) -> u32 {
    let rules: Vec<u64> = forms.iter().flat_map(|f| rules::rules(f)).collect();
    // What a program with no prefix means; forms of other prefixes bring no immediates of their own here.
    let plain: Vec<&&Form> =
        forms.iter().filter(|f| f.cond.iter().all(|c| !matches!(c.as_str(), "66" | "f3" | "f2"))).collect();
    let mut entry = 0;
    let sizes: Vec<[u32; 3]> = plain.iter().map(|f| immediates(f)).collect();
    let most = sizes.iter().max().copied().unwrap_or([0; 3]);
    let modrm = forms.iter().any(|f| f.has_modrm());
    if modrm {
        entry |= MODRM;
    }
    entry |= (1 + u32::from(modrm) + most[1]) << BASE_SHIFT | most[0] << SMALL_SHIFT;
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
        entry |= ANY_MOD | RULES;
    }
    let mut group = 0u64;
    let mut flows: Vec<u64> = Vec::new();
    for reg in 0..8 {
        let mut flow_of_reg = None;
        for mem in [true, false] {
            let mut seen: Vec<Option<u64>> = Vec::new();
            for case in 0..64u64 {
                let plain = outcome(&rules, key(0, case & 1, case >> 1 & 1, case >> 2 & 1, mem, reg, case >> 3));
                if !seen.contains(&plain) {
                    seen.push(plain);
                }
            }
            let Some(Some(flow)) = seen.first() else { continue };
            // What is not alike for all prefixes of this extension is left to the general path, and only that.
            if seen.len() > 1 || flow_of_reg.is_some_and(|f| f != *flow) {
                if entry & MODRM == 0 {
                    entry |= RULES;
                }
                continue;
            }
            group |= 1 << (reg + if mem { 0 } else { 8 });
            flow_of_reg = Some(*flow);
            flows.push(*flow);
        }
        group |= flow_of_reg.unwrap_or(0) << (16 + 4 * reg);
    }
    if flows.is_empty() {
        return entry | SPECIAL;
    }
    if group & 0xffff == 0xffff && flows.iter().all(|f| *f == flows[0]) {
        return entry | (flows[0] as u32) << FLOW_SHIFT;
    }
    let index = groups.iter().position(|g| *g == group).unwrap_or_else(|| {
        groups.push(group);
        groups.len() - 1
    });
    assert!(index < GROUPS, "more groups than the entry's field holds");
    entry | (index as u32) << GROUP_SHIFT
}

/// Bytes that modrm brings along with 32 and 64-bit addressing; bit 4: a SIB byte, counted; bit 5: whose base 5 adds four more.
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
        displacement + if sib { 0x11 } else { 0 } + if sib && mode == 0 { 0x20 } else { 0 }
    })
}
