//! Writes tables as Rust source.

use crate::hot::{GROUPS, Hot};
use crate::semantics::Semantics;
use crate::validity::Validity;
use std::fmt::{Display, Write};

const HEAD: &str = "// Written by `cargo xtask gen` from opcodes.txt; do not edit.\n\n";

fn list<T>(out: &mut String, items: &[T], per_line: usize, show: impl Fn(&T) -> String) {
    for line in items.chunks(per_line) {
        out.push_str("    ");
        let text: Vec<String> = line.iter().map(&show).collect();
        out.push_str(&text.join(", "));
        out.push_str(",\n");
    }
}

pub(crate) fn array<T>(
    out: &mut String,
    doc: &str,
    name: &str,
    kind: &str,
    items: &[T],
    per_line: usize,
    show: impl Fn(&T) -> String,
) {
    let _ = writeln!(out, "/// {doc}\npub(crate) static {name}: [{kind}; {}] = [", items.len());
    list(out, items, per_line, show);
    out.push_str("];\n\n");
}

pub(crate) fn row<T: Display>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

pub(crate) fn hot(hot: &Hot) -> String {
    let mut out = HEAD.to_owned();
    let hex = |e: &u32| format!("{e:#x}");
    array(&mut out, "Entries of the one-byte map (see `entry`).", "ONE_BYTE", "u32", &hot.entries[0], 8, hex);
    array(&mut out, "Entries of the 0F map.", "TWO_BYTE", "u32", &hot.entries[1], 8, hex);
    array(&mut out, "Bytes after modrm, by modrm.", "MODRM", "u8", &hot.modrm, 16, |e| format!("{e:#x}"));
    let mut groups = hot.groups.clone();
    groups.resize(GROUPS, 0);
    array(
        &mut out,
        "Groups: valid extensions with memory, with registers, and their flows.",
        "GROUPS",
        "u64",
        &groups,
        4,
        |e| format!("{e:#x}"),
    );
    out
}

/// The number of `item` in `items`, to which it is added where it is new.
fn intern(items: &mut Vec<u32>, item: u32) -> usize {
    items.iter().position(|other| *other == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

pub(crate) fn validity(v: &Validity) -> String {
    let mut out = HEAD.to_owned();
    array(&mut out, "Page by space and opcode row.", "ROWS", "[u8; 32]", &v.rows, 1, |r| row(r));
    array(&mut out, "Start of an opcode's list; 0: none.", "PAGES", "[u16; 8]", &v.pages, 1, |r| row(r));
    array(&mut out, "Lists of rules; bit 15 marks the last.", "LISTS", "u16", &v.lists, 12, u16::to_string);
    let mut halves: Vec<u32> = Vec::new();
    let of: Vec<usize> = v.rules.iter().map(|rule| intern(&mut halves, (rule >> 32) as u32)).collect();
    assert!(halves.len() <= 256, "more upper halves than a byte can name");
    let low: Vec<u32> = v.rules.iter().map(|rule| *rule as u32).collect();
    let hex = |r: &u32| format!("{r:#x}");
    array(&mut out, "Lower halves of rules (see `validity`).", "LOW", "u32", &low, 8, hex);
    array(&mut out, "Number of a rule's upper half.", "HIGH_OF", "u8", &of, 16, usize::to_string);
    array(&mut out, "Upper halves.", "HIGH", "u32", &halves, 8, hex);
    out
}

pub(crate) fn semantics(s: &Semantics) -> String {
    let mut out = HEAD.to_owned();
    array(&mut out, "Page by space and opcode row.", "ROWS", "[u8; 16]", &s.rows, 1, |r| row(r));
    array(&mut out, "Start of an opcode's list.", "PAGES", "[u16; 16]", &s.pages, 1, |r| row(r));
    array(&mut out, "Forms, one per rule of an opcode.", "LISTS", "u16", &s.lists, 12, u16::to_string);
    array(&mut out, "Forms (see `form`).", "FORMS", "[u16; 11]", &s.forms, 1, |r| row(r));
    array(&mut out, "Implicit registers read and written.", "SETS", "(u128, u128)", &s.sets, 1, |(r, w)| {
        format!("({r:#x}, {w:#x})")
    });
    array(&mut out, "Flags read and written.", "FLAGS", "(u32, u32)", &s.flags, 4, |(r, w)| {
        format!("({r:#x}, {w:#x})")
    });
    out
}
