//! `cargo xtask coverage`: how much of insn and stepping the tests run, by cargo-llvm-cov.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{run, setup};

/// The least share of lines, in percent.
const LEAST: &str = "98";
/// Everything but the sources of insn and stepping.
const OTHERS: &str = "/(bench|cli|fuzz|gen|record|tests|ubp|wire|xtask)/";
/// The tests of `crossing` that ask the processor; those of whole programs run a build of their own.
const CROSSING: &[&str] = &["--test", "oracle", "--test", "lockstep_*", "--test", "semantics"];

/// Runs the tests instrumented, prints the share of each file, and fails below [`LEAST`] percent of lines.
pub(crate) fn run() -> Result<()> {
    setup::install(setup::FOR_COVERAGE)?;
    setup::install_tool("cargo-llvm-cov")?;
    let tools = matching_tools()?;
    let llvm_cov = |arguments: &[&str]| {
        let mut command = run::cargo(&["llvm-cov"]);
        command.args(arguments).envs(tools.clone());
        run::run(&mut command)
    };
    llvm_cov(&["clean", "--workspace"])?;
    llvm_cov(&["--no-report", "--package", "insn", "--package", "stepping"])?;
    llvm_cov(&[&["--no-report", "--package", "crossing"], CROSSING].concat())?;
    llvm_cov(&["report", "--ignore-filename-regex", OTHERS, "--show-missing-lines", "--fail-under-lines", LEAST])
}

/// Debian's LLVM tools of the version that rustc was built with, which alone reads its profiles. Where they
/// are not there, cargo-llvm-cov takes those of rustup's component `llvm-tools`.
fn matching_tools() -> Result<Vec<(&'static str, String)>> {
    let about = run::output(Command::new("rustc").arg("-vV"))?;
    let version = about.lines().find_map(|line| line.strip_prefix("LLVM version: ")).context("rustc names no LLVM")?;
    let major = version.split('.').next().unwrap_or(version);
    let tools = [("LLVM_COV", format!("llvm-cov-{major}")), ("LLVM_PROFDATA", format!("llvm-profdata-{major}"))];
    Ok(tools.into_iter().filter(|(_, program)| run::is_installed(program)).collect())
}
