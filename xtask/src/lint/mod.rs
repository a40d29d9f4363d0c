//! `cargo xtask lint`: formatting, file sizes, circles of imports, prose, packages, clippy, documentation, the page of figures.

mod circles;
mod imports;
mod modules;
mod phrases;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::lanes::{self, Lane, Length, Place, no_obstacle};
use crate::{packages, run, truth};

/// The most lines that a source file may have.
const MOST_LINES: usize = 800;
/// Features that a user of `ubp` may choose alone, beside all of them; none is the core.
const UBP: [&str; 4] = ["", "std", "module", "rules"];
/// Stands in the first lines of files that a generator writes.
const GENERATED: &str = "Written by `cargo xtask gen`";

/// The lanes.
pub(crate) fn lanes() -> Vec<Lane> {
    let lane = |name, obstacle, step| Lane { name, place: Place::Host, needs_cache: false, obstacle, step };
    vec![
        lane("format", || component("rustfmt"), format),
        lane("file sizes", no_obstacle, |_| file_sizes(&run::root())),
        lane("circles of imports", no_obstacle, |_| circles::check(&run::root())),
        lane("prose", no_obstacle, |_| phrases::check(&run::root())),
        lane("page of figures", no_obstacle, |_| truth::check()),
        lane("packages", packages::obstacle, |_| packages::check()),
        lane("clippy", || component("cargo-clippy"), clippy),
        lane("documentation", no_obstacle, documentation),
    ]
}

/// Runs every lane.
pub(crate) fn run() -> Result<()> {
    lanes::run_all(&lanes(), Length::Ordinary)
}

/// Why a component of the Rust toolchain cannot be used.
fn component(program: &str) -> Option<String> {
    let answer = run::output(Command::new(program).arg("--version").current_dir(run::root()));
    answer.err().map(|_| format!("the Rust toolchain has no {program}"))
}

fn format(_: &Path) -> Result<()> {
    run::run(&mut run::cargo(&["fmt", "--all", "--check"]))?;
    // Of the edition of the kernel's own code, and no package of cargo's.
    let mut module = Command::new("rustfmt");
    module.args(["--edition", "2021", "--check", "kmod/src/main.rs", "kmod/fastpath/lib.rs"]);
    run::run(module.current_dir(run::root()))
}

fn clippy(_: &Path) -> Result<()> {
    run::run(&mut run::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    for features in UBP {
        let arguments = ["clippy", "--package", "ntrace-ubp", "--lib", "--no-default-features", "--features", features];
        run::run(run::cargo(&arguments).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn documentation(_: &Path) -> Result<()> {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    run::run(run::cargo(&arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

fn file_sizes(root: &Path) -> Result<()> {
    let listed = run::output(Command::new("git").args(["ls-files", "-z", "*.rs"]).current_dir(root))?;
    let mut wrong = Vec::new();
    for name in listed.split('\0').filter(|name| !name.is_empty()) {
        let path = root.join(name);
        // A file removed in the work tree and not yet in the index.
        if !path.exists() {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        if is_too_long(&text) {
            wrong.push(format!("{name}: {} lines", text.lines().count()));
        }
    }
    if !wrong.is_empty() {
        bail!("files of more than {MOST_LINES} lines:\n{}", wrong.join("\n"));
    }
    Ok(())
}

fn is_too_long(text: &str) -> bool {
    text.lines().count() > MOST_LINES && !text.lines().take(3).any(|line| line.contains(GENERATED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_files_may_be_long() {
        let long = "x\n".repeat(MOST_LINES + 1);
        assert!(is_too_long(&long));
        assert!(!is_too_long(&"x\n".repeat(MOST_LINES)));
        assert!(!is_too_long(&format!("// {GENERATED} by a tool\n{long}")));
    }
}
