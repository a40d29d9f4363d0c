//! What a form demands of an instruction's fields, as one word.
//!
//! Every field of an instruction is one bit out of a few (a "key"); a rule is the set of bits that the form allows. An
//! instruction fits when its key has no bit outside the rule. The bits' meaning is shared with insn/src/x86/validity.rs.

use super::parse::{Form, SPACES};

pub(crate) const PP: u32 = 0;
pub(crate) const W: u32 = 4;
pub(crate) const L: u32 = 6;
pub(crate) const BITS: u32 = 10;
pub(crate) const VENDOR: u32 = 12;
pub(crate) const MEM: u64 = 1 << 14;
pub(crate) const REG: u64 = 1 << 15;
pub(crate) const EXT: u32 = 16;
pub(crate) const RM: u32 = 24;
/// vvvv unused and V' not either; V' used; vvvv used. In legacy spaces: B clear, B set.
pub(crate) const V: u32 = 32;
/// aaa = 0, 4, other.
pub(crate) const AAA: u32 = 35;
/// z = 0; z = 1 with a mask; z = 1 without.
pub(crate) const Z: u32 = 38;
/// b = 0; with memory; with a register.
pub(crate) const B: u32 = 41;
pub(crate) const LOCK_MEM: u64 = 1 << 44;
pub(crate) const LOCK_REG: u64 = 1 << 45;
/// 66 beside the F2 or F3 that selects the form, in legacy spaces.
pub(crate) const WITH_66: u64 = 1 << 60;
/// In keys of strict modes.
pub(crate) const STRICT: u64 = 1 << 56;
/// All bits of a key.
/// b with a register where it means nothing, which lenient modes ignore.
pub(crate) const IGNORED_B: u64 = 1 << 58;
pub(crate) const KEY: u64 = ((1 << 46) - 1) | STRICT | IGNORED_B | WITH_66;
pub(crate) const IMM: u32 = 46;
pub(crate) const FLOW: u32 = 48;
pub(crate) const CHECK: u32 = 52;
pub(crate) const REFUSED: u64 = 1 << 59;

const FLOWS: &[&str] = &["", "jump", "jcc", "call", "ret", "syscall", "int", "trap", "far", "tsx", "priv", "ud"];

/// The number of the form's `Flow`; two more for jumps and calls that are not relative.
pub(crate) fn flow(form: &Form) -> u64 {
    match FLOWS.iter().position(|f| form.has(f)).unwrap_or(0) {
        1 if !form.uses("J") => 12,
        3 if !form.uses("J") => 13,
        flow => flow as u64,
    }
}

/// Immediate: 0 none, 1 a byte, 2 by the operand size (2 or 4), 3 two bytes.
fn immediate(form: &Form) -> u64 {
    let bytes = form.operands.iter().filter(|o| matches!(o.place.as_str(), "I" | "J" | "L") && o.size != "z").count();
    let wide = form.operands.iter().any(|o| matches!(o.place.as_str(), "I" | "J") && o.size == "z");
    if wide { 2 } else { bytes.min(3) as u64 + u64::from(bytes == 2) }
}

/// What else is to be checked: registers that must differ (1 VEX gather, 2 EVEX gather, 3 AMX tiles, 4 destination and
/// sources, 9 `pop2`), must be below 8 (3 and 7 tiles, 5 and 8 modrm.reg, 6 modrm.reg and vvvv) or not rsp (9, 10 `push2`).
fn check(form: &Form) -> u64 {
    let same = form.has("same");
    match () {
        () if same && form.uses("MV") => 1 + u64::from(form.is_evex()),
        () if same && form.uses("TG") => 3,
        () if form.uses("TR") => 7,
        () if form.uses("TG") || form.has("low") => 8,
        () if same => 4,
        () if form.uses("KH") => 6,
        () if form.uses("KG") => 5,
        () if form.has("pop2") => 9,
        () if form.has("push2") => 10,
        () => 0,
    }
}

fn one_of(form: &Form, names: &[(&str, u64)], all: u64) -> u64 {
    let bits = names.iter().filter(|(n, _)| form.cond(n)).fold(0, |bits, (_, b)| bits | b);
    if bits == 0 { all } else { bits }
}

/// The form's rule.
pub(crate) fn rule(form: &Form) -> u64 {
    let vex = form.is_vex();
    let evex = form.is_evex();
    let map4 = SPACES[form.space] == "e4";
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
    // z where nothing is masked: lenient modes ignore it.
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
    rule |= immediate(form) << IMM | flow(form) << FLOW | check(form) << CHECK;
    if !form.cond("no66") {
        rule |= WITH_66;
    }
    if !form.cond("lax") {
        rule |= STRICT;
    }
    if form.has("inv") {
        rule |= REFUSED;
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
