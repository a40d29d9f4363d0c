//! Writes x86's tables.

use super::codes::entry::GROUPS;
use super::common::Common;
use super::hot::Hot;
use super::semantics::Semantics;
use super::validity::Validity;
use crate::write::{array, field, head, row};
use std::fmt::Write;

pub(crate) fn hot(hot: &Hot) -> String {
    let mut out = head("opcodes.txt");
    let hex = |e: &u32| format!("{e:#x}");
    let mut groups = hot.groups.clone();
    groups.resize(GROUPS, 0);
    let fields = [
        ("Entries of the one-byte map (see `entry`).", "one_byte", "u32", 256),
        ("Entries of the 0F map.", "two_byte", "u32", 256),
        ("Bytes of modrm and what it brings along (see `entry`).", "modrm", "u8", 256),
        ("Groups: valid values of modrm's mod and reg, and the flows of reg (see `entry`).", "groups", "u64", GROUPS),
    ];
    out.push_str("/// The hot tables, side by side, so that one address serves for all.\npub(crate) struct Hot {\n");
    for (doc, name, kind, len) in fields {
        let _ = writeln!(out, "/// {doc}\npub(crate) {name}: [{kind}; {len}],");
    }
    out.push_str("}\n\npub(crate) static HOT: Hot = Hot {\n");
    field(&mut out, "one_byte", &hot.entries[0], 8, hex);
    field(&mut out, "two_byte", &hot.entries[1], 8, hex);
    field(&mut out, "modrm", &hot.modrm, 16, |e| format!("{e:#x}"));
    field(&mut out, "groups", &groups, 4, |e| format!("{e:#x}"));
    out.push_str("};\n");
    out
}

pub(crate) fn validity(v: &Validity) -> String {
    let mut out = head("opcodes.txt");
    array(&mut out, "Page by space and opcode row.", "ROWS", "[u8; 32]", &v.rows, 1, |r| row(r));
    array(&mut out, "Start of an opcode's list; 0: none.", "PAGES", "[u16; 8]", &v.pages, 1, |r| row(r));
    array(&mut out, "Lists of rules; bit 15 marks the last.", "LISTS", "u16", &v.lists, 12, u16::to_string);
    // A rule is stored as the numbers of its three parts, because there are few different parts.
    let mut parts: [Vec<u64>; 3] = Default::default();
    let part = |rule: u64, i: usize| [rule as u16 as u64, rule >> 16 & 0xffff, rule >> 32][i];
    for (i, of_all) in parts.iter_mut().enumerate() {
        *of_all = v.rules.iter().map(|rule| part(*rule, i)).collect();
        of_all.sort_unstable();
        of_all.dedup();
        assert!(of_all.len() <= 256, "more parts than a byte can name");
    }
    let number = |rule: u64, i: usize| parts[i].partition_point(|other| *other < part(rule, i));
    let numbers: Vec<[usize; 3]> = v.rules.iter().map(|rule| [0, 1, 2].map(|i| number(*rule, i))).collect();
    let hex = |r: &u64| format!("{r:#x}");
    array(&mut out, "Rules (see `validity`): the numbers of their parts.", "RULES", "[u8; 3]", &numbers, 6, |n| row(n));
    array(&mut out, "Bits 0 to 15 of rules.", "LOW", "u16", &parts[0], 12, hex);
    array(&mut out, "Bits 16 to 31.", "MIDDLE", "u16", &parts[1], 12, hex);
    array(&mut out, "Bits 32 to 63.", "HIGH", "u32", &parts[2], 8, hex);
    out
}

pub(crate) fn semantics(s: &Semantics) -> String {
    let mut out = head("opcodes.txt");
    array(&mut out, "Page by space and opcode row.", "ROWS", "[u8; 16]", &s.rows, 1, |r| row(r));
    array(&mut out, "Way to choose, and start, of an opcode's forms.", "PAGES", "[u16; 16]", &s.pages, 1, |r| row(r));
    array(&mut out, "Forms to choose from.", "LISTS", "u16", &s.lists, 12, u16::to_string);
    array(&mut out, "Forms (see `codes::form`).", "FORMS", "[u64; 3]", &s.forms, 2, |[a, b, c]| {
        format!("[{a:#x}, {b:#x}, {c:#x}]")
    });
    array(&mut out, "Sets of registers.", "SETS", "u128", &s.sets, 2, |set| format!("{set:#x}"));
    array(&mut out, "Flags read, written, always set, undefined.", "FLAGS", "[u32; 4]", &s.flags, 2, |[r, w, a, u]| {
        format!("[{r:#x}, {w:#x}, {a:#x}, {u:#x}]")
    });
    out
}

pub(crate) fn common(c: &Common) -> String {
    let mut out = head("opcodes.txt");
    let hex = |entry: &u32| format!("{entry:#x}");
    array(&mut out, "Fields that choose, and start, by space and opcode.", "OPCODES", "u32", &c.opcodes, 10, hex);
    array(&mut out, "Records to choose from.", "LISTS", "u16", &c.lists, 12, u16::to_string);
    array(&mut out, "Records (see `codes::common`).", "RECORDS", "u64", &c.records, 5, |record| format!("{record:#x}"));
    array(&mut out, "Sizes of operands and of memory.", "SIZES", "u64", &c.sizes, 5, |sizes| format!("{sizes:#x}"));
    array(&mut out, "Registers read and written that no field names.", "IMPLIED", "[u64; 4]", &c.implied, 1, |set| {
        row(set)
    });
    array(&mut out, "Registers overwritten that no field names.", "WHOLES", "[u64; 4]", &c.wholes, 1, |set| row(set));
    out
}
