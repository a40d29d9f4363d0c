//! `cargo xtask gen`: the tables of insn, from its data file.

use anyhow::Result;

use crate::run;

/// Writes the tables, or with `check` only compares them.
pub(crate) fn run(check: bool) -> Result<()> {
    let mut arguments = vec!["run", "--quiet", "--package", "insn-gen", "--"];
    if check {
        arguments.push("--check");
    }
    run::run(&mut run::cargo(&arguments))
}
