//! Writes tables as Rust source.

use std::fmt::{Display, Write};

/// The head of a generated file.
pub(crate) fn head(source: &str) -> String {
    format!("// Written by `cargo xtask gen` from {source}; do not edit.\n\n")
}

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

/// A field of a structure that is an array.
pub(crate) fn field<T>(out: &mut String, name: &str, items: &[T], per_line: usize, show: impl Fn(&T) -> String) {
    let _ = writeln!(out, "{name}: [");
    list(out, items, per_line, show);
    out.push_str("],\n");
}

pub(crate) fn row<T: Display>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}
