//! The channel's header for C, made from wire's declarations.

use std::fmt::Write;

use wire::{Declaration, Documentation, Kind, Parameter, Status, commands, events, flag};

/// The part before the numbers.
const HEAD: &str = "\
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/*
 * Messages of /dev/ntrace, see ntrace(4). Written by `cargo xtask gen` from the declarations of the crate ntrace-wire.
 *
 * A structure has the words of a message. A field with the suffix _bytes is the length of a blob; the contents of blobs follow the last
 * word in the order of their lengths, without gaps, then zeroes up to a whole word.
 */
#ifndef _UAPI_NTRACE_H
#define _UAPI_NTRACE_H

#include <linux/types.h>

/* The first two words of each message. Both architectures of ntrace are little-endian. */
struct ntrace_header {
\t__u32 words;\t/* of the message, including these two */
\t__u16 code;
\t__u16 flags;
\t__u64 tag;
};
";

/// The header.
pub(crate) fn header() -> String {
    let mut text = HEAD.to_owned();
    line(&mut text, &format!("\n#define NTRACE_VERSION {}\n\n/* Flags of a command. */", wire::VERSION));
    line(&mut text, &format!("#define NTRACE_THEN {}\n\n/* How a command ended. */", flag::THEN));
    for status in Status::ALL {
        line(&mut text, &format!("#define NTRACE_STATUS_{} {}", constant(&format!("{status:?}")), *status as u64));
    }
    for (kind, list, documentation) in [
        ("COMMAND", commands::DECLARATIONS, commands::DOCUMENTATION),
        ("EVENT", events::DECLARATIONS, events::DOCUMENTATION),
    ] {
        for (one, documented) in list.iter().zip(documentation) {
            message(&mut text, kind, one, documented);
        }
    }
    text + "\n#endif\n"
}

fn message(text: &mut String, kind: &str, one: &Declaration, documented: &Documentation) {
    let name = one.name;
    text.push('\n');
    comment(text, "", documented.lines);
    line(text, &format!("#define NTRACE_{kind}_{} {:#x}", name.to_uppercase(), one.code));
    structure(text, name, "", one.fields, documented.fields);
    if kind == "COMMAND" {
        structure(text, &format!("{name}_reply"), "\t__u64 status;\n\t__u64 detail;\n", one.reply, documented.reply);
    }
}

fn structure(text: &mut String, name: &str, start: &str, fields: &[Parameter], documented: &[&[&str]]) {
    line(text, &format!("struct ntrace_{name} {{\n\tstruct ntrace_header header;"));
    text.push_str(start);
    for (field, lines) in fields.iter().zip(documented) {
        let suffix = if field.kind == Kind::Blob { "_bytes" } else { "" };
        comment(text, "\t", lines);
        line(text, &format!("\t__u64 {}{suffix};", field.name));
    }
    line(text, "};");
}

/// A comment in the kernel's style. Each line begins with a space.
fn comment(text: &mut String, indent: &str, lines: &[&str]) {
    let inside = |line: &str| line.replace("*/", "* /");
    match lines {
        [one] => line(text, &format!("{indent}/*{} */", inside(one))),
        _ => {
            line(text, &format!("{indent}/*"));
            lines.iter().for_each(|one| line(text, &format!("{indent} *{}", inside(one))));
            line(text, &format!("{indent} */"));
        }
    }
}

/// A name of Rust's, as a constant of C's: `NoProcess` is `NO_PROCESS`.
fn constant(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(character.to_uppercase());
    }
    text
}

fn line(text: &mut String, line: &str) {
    // A string takes everything.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::run;

    #[test]
    fn a_program_in_c_sees_a_structure_for_each_message_with_the_channels_words() {
        let mut program = header();
        for one in commands::DECLARATIONS.iter().chain(events::DECLARATIONS) {
            let (name, words) = (one.name, 2 + one.fields.len());
            line(&mut program, &format!("_Static_assert(sizeof(struct ntrace_{name}) == 8 * {words}, \"{name}\");"));
        }
        let file = std::env::temp_dir().join(format!("ntrace-uapi-{}.c", std::process::id()));
        std::fs::write(&file, program).unwrap();
        let compiled =
            run::bytes(Command::new("gcc").args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]).arg(&file));
        std::fs::remove_file(&file).unwrap();
        compiled.unwrap();
    }

    #[test]
    fn the_header_is_that_of_the_declarations() {
        let file = std::fs::read_to_string(run::root().join("kmod/uapi/ntrace.h")).unwrap();
        assert!(file == header(), "`cargo xtask gen` writes the header");
    }

    #[test]
    fn names_of_statuses_are_split_at_capitals() {
        assert_eq!(constant("NoProcess"), "NO_PROCESS");
        assert_eq!(constant("Done"), "DONE");
    }
}
