//! `cargo xtask gen`: the tables of insn, from its data files, and the manual page of the channel, from wire's declarations.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::run;

/// The manual page of the channel.
const MANUAL: &str = "docs/ntrace.4";

/// Writes them, or with `check` only compares them.
pub(crate) fn run(check: bool) -> Result<()> {
    let mut arguments = vec!["run", "--quiet", "--package", "insn-gen", "--"];
    if check {
        arguments.push("--check");
    }
    run::run(&mut run::cargo(&arguments))?;
    let mut page = String::new();
    wire::manual::page(&mut page).context("the manual")?;
    let path = run::root().join(MANUAL);
    if !check {
        return fs::write(&path, page).with_context(|| format!("cannot write {MANUAL}"));
    }
    if fs::read_to_string(&path).with_context(|| format!("cannot read {MANUAL}"))? != page {
        bail!("{MANUAL} is not what wire declares; `cargo xtask gen` writes it");
    }
    Ok(())
}
