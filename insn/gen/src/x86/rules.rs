//! Rules: what a form demands of an instruction's fields, as one word.
//!
//! Every field of an instruction contributes one bit to its key; a rule is the set of bits that a form allows. An instruction fits if its
//! key has no bit outside the rule.

use super::codes::key::{
    AAA, B, BITS, EXT, IGNORED_B, L, LOCK_MEM, LOCK_REG, MEM, PP, REG, RM, STRICT, V, VENDOR, W, WITH_66, Z,
};
use super::codes::rule::{self, check, immediate};
use super::codes::{flow, space};
use super::parse::Form;

/// The form's flow, one of [`flow`].
fn flow_of(form: &Form) -> u64 {
    let named = flow::NAMES.iter().find(|(name, _)| form.has(name)).map_or(flow::NEXT, |(_, flow)| *flow);
    u64::from(match named {
        flow::JUMP if !form.uses("J") => flow::INDIRECT_JUMP,
        flow::CALL if !form.uses("J") => flow::INDIRECT_CALL,
        flow => flow,
    })
}

/// The form's immediate, one of [`immediate`].
fn immediate_of(form: &Form) -> u64 {
    let bytes = form.operands.iter().filter(|o| matches!(o.place.as_str(), "I" | "J" | "L") && o.size != "z").count();
    let wide = form.operands.iter().any(|o| matches!(o.place.as_str(), "I" | "J") && o.size == "z");
    u64::from(match bytes {
        _ if wide => immediate::OPERAND_SIZE,
        0 => immediate::NONE,
        1 => immediate::BYTE,
        _ => immediate::TWO_BYTES,
    })
}

/// What the form demands of registers, one of [`check`].
fn check_of(form: &Form) -> u64 {
    let same = form.has("same");
    u64::from(match () {
        () if same && form.uses("MV") && form.is_evex() => check::EVEX_GATHER,
        () if same && form.uses("MV") => check::VEX_GATHER,
        () if same && form.uses("TG") => check::TILES,
        () if form.uses("TR") => check::TILE_ROWS,
        () if form.uses("TG") || form.has("low") => check::LOW,
        () if same => check::SOURCES,
        () if form.uses("KH") => check::MASKS,
        () if form.uses("KG") => check::MASK,
        () if form.has("pop2") => check::POP2,
        () if form.has("push2") => check::PUSH2,
        () => check::NONE,
    })
}

fn one_of(form: &Form, names: &[(&str, u64)], all: u64) -> u64 {
    let bits = names.iter().filter(|(n, _)| form.cond(n)).fold(0, |bits, (_, b)| bits | b);
    if bits == 0 { all } else { bits }
}

/// The form's rule.
fn rule(form: &Form) -> u64 {
    let vex = form.is_vex();
    let evex = form.is_evex();
    let map4 = form.space == usize::from(space::EVEX_MAP4);
    let pp = one_of(form, &[("np", 1), ("66", 2), ("f3", 4), ("f2", 8), ("np66", 3)], 15);
    let w = one_of(form, &[("w0", 1), ("w1", 2)], 3);
    let all_lengths = match (vex, evex && !map4, map4) {
        (true, ..) => 3,
        (_, true, _) => 7,
        (_, _, true) => 1,
        _ => 15,
    };
    let l = one_of(
        form,
        &[("l0", 1), ("l1", 2), ("l2", 4), ("l01", 3), ("l12", 6), ("l02", 5), ("lig", if evex { 7 } else { 15 })],
        all_lengths,
    );
    let bits = one_of(form, &[("m64", 1), ("m32", 2)], 3);
    let vendor = one_of(form, &[("intel", 1), ("amd", 2)], 3);
    let mut rule = pp << PP | w << W | l << L | bits << BITS | vendor << VENDOR;

    let (mem, reg) = match form.rm_operand().map(|o| o.place.as_str()) {
        Some("M" | "MV" | "MS") => (true, false),
        Some("N" | "R" | "U" | "KR" | "TR") => (form.has("anymod"), true),
        Some(_) => (true, true),
        None => (form.rm.is_none() && !form.has("reg"), true),
    };
    rule |= if mem { MEM } else { 0 } | if reg { REG } else { 0 };
    rule |= u64::from(form.ext.unwrap_or(0xff)) << EXT;
    // A vector index, or a tile's rows, need a SIB byte: rm = 4.
    let sib = form.uses("MV") || form.uses("MS");
    rule |= u64::from(form.rm.unwrap_or(if sib { 0x10 } else { 0xff })) << RM;

    let v = if vex || evex {
        let used = ["H", "B", "KH", "TH"].iter().any(|p| form.uses(p));
        if used || form.has("scc") {
            7
        } else if evex && form.uses("MV") {
            3
        } else {
            1
        }
    } else if form.cond("b0") {
        1
    } else {
        7
    };
    rule |= v << V;
    let (aaa, z) = if vex {
        (1, 1)
    } else if form.cond("nf1") {
        (2, 1)
    } else if form.has("kk") {
        (6, 1)
    } else if form.has("scc") {
        (7, 1)
    } else if form.has("k") {
        let stores = form.operands.first().is_some_and(|o| matches!(o.place.as_str(), "M" | "KG" | "MV"));
        (7, if stores { 1 } else { 3 })
    } else if form.has("nf") {
        (3, 1)
    } else {
        (1, 1)
    };
    rule |= aaa << AAA | z << Z;
    let broadcast = evex && ["bw", "bd", "bq"].iter().any(|a| form.has(a));
    let rounding = evex && (form.has("er") || form.has("sae"));
    let nd = if form.cond("nd1") || form.cond("zu") { 6 } else { 1 };
    rule |= if map4 { nd } else { 1 | u64::from(broadcast) << 1 | u64::from(rounding) << 2 } << B;
    if broadcast && !rounding {
        rule |= IGNORED_B;
    }
    // Lenient modes ignore z if the instruction is not masked.
    let stores = form.operands.first().is_some_and(|o| o.place == "M");
    if evex && !map4 && aaa == 1 && !stores {
        rule |= 4 << Z;
    }
    if form.has("lock") {
        rule |= LOCK_MEM;
    }
    if form.has("lockreg") {
        rule |= LOCK_REG | LOCK_MEM;
    }
    rule |= immediate_of(form) << rule::IMMEDIATE | flow_of(form) << rule::FLOW | check_of(form) << rule::CHECK;
    if !form.cond("no66") {
        rule |= WITH_66;
    }
    if !form.cond("lax") {
        rule |= STRICT;
    }
    if form.has("inv") {
        rule |= rule::REFUSED;
    }
    rule
}

/// The rules of a form: two where zeroing is allowed for a register destination only.
pub(crate) fn rules(form: &Form) -> Vec<u64> {
    let rule = rule(form);
    let first = form.operands.first().map(|o| o.place.as_str());
    if form.is_evex() && form.has("k") && matches!(first, Some("W" | "E")) {
        return vec![rule & !MEM, rule & !REG & !(2 << Z)];
    }
    vec![rule]
}
