//! `cargo xtask coverage`: how much of insn and stepping the tests run, by cargo-llvm-cov.
//!
//! Counting branches needs an unstable option of rustc. `RUSTC_BOOTSTRAP` makes the installed compiler accept it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::{apt, run, truth};

/// Whether to keep the figures.
#[derive(Args)]
pub(crate) struct Options {
    /// Put the numbers into docs/figures.txt
    #[arg(long)]
    record: bool,
}

/// The least share of lines, in percent.
const LEAST: &str = "98";
/// A pattern of all sources but those of insn and stepping.
const OTHERS: &str = "/(bench|cli|fuzz|gen|record|symbols|tests|trampoline|ubp|wire|xtask)/";
/// The tests of `crossing` that compare with the processor. Tests of whole programs build the command separately.
const CROSSING: &[&str] = &["--test", "oracle", "--test", "lockstep_*", "--test", "semantics"];

/// Runs the tests instrumented, prints the share of each file, and fails below [`LEAST`] percent of lines.
pub(crate) fn run(options: &Options) -> Result<()> {
    apt::install(apt::FOR_COVERAGE)?;
    run::install_tool("cargo-llvm-cov")?;
    let tools = matching_tools()?;
    let llvm_cov = |arguments: &[&str]| {
        let mut command = run::cargo(&["llvm-cov"]);
        command.args(arguments).envs(tools.clone()).env("RUSTC_BOOTSTRAP", "1");
        command
    };
    run::run(&mut llvm_cov(&["clean", "--workspace"]))?;
    run::run(&mut llvm_cov(&["--branch", "--no-report", "--package", "ntrace-insn", "--package", "ntrace-stepping"]))?;
    run::run(&mut llvm_cov(&[&["--branch", "--no-report", "--package", "crossing"], CROSSING].concat()))?;
    let report = ["report", "--branch", "--ignore-filename-regex", OTHERS];
    if options.record {
        let json = run::output(&mut llvm_cov(&[&report[..], &["--json", "--summary-only"]].concat()))?;
        truth::record("coverage", &figures(&json)?)?;
    }
    run::run(&mut llvm_cov(&[&report[..], &["--show-missing-lines", "--fail-under-lines", LEAST]].concat()))
}

/// What is counted, and the page's word for what no test runs.
const COUNTED: [(&str, &str); 2] = [("lines", "missed"), ("branches", "branches_missed")];

/// For each room and each of its architectures: the share of lines and branches that tests run, and the number that none runs.
fn figures(json: &str) -> Result<String> {
    let report: Value = serde_json::from_str(json).context("cargo-llvm-cov's report is not JSON")?;
    // For each folder and kind: how many there are, and how many run.
    let mut folders: BTreeMap<String, [[u64; 2]; 2]> = BTreeMap::new();
    for file in report["data"][0]["files"].as_array().context("cargo-llvm-cov reports no files")? {
        let name = Path::new(file["filename"].as_str().context("a file has no name")?);
        let name = name.strip_prefix(run::root()).with_context(|| format!("{} is elsewhere", name.display()))?;
        // ROOM/src/ARCHITECTURE/…
        let folders_of = name.parent().unwrap_or(name).iter().map(|part| part.to_string_lossy());
        let folder = folders_of.filter(|part| part != "src").take(2).collect::<Vec<_>>().join("/");
        for folder in [folder, "all".to_owned()] {
            for ((kind, _), sums) in COUNTED.iter().zip(folders.entry(folder).or_default()) {
                for (what, sum) in ["count", "covered"].iter().zip(sums) {
                    *sum += file["summary"][kind][what].as_u64().with_context(|| format!("a file has no {kind}"))?;
                }
            }
        }
    }
    let all = folders.remove("all").map(|all| ("all".to_owned(), all));
    let line = |(folder, sums): (String, [[u64; 2]; 2])| {
        let columns = COUNTED.iter().zip(sums).map(|((kind, missed), [count, covered])| {
            let left = count - covered;
            let percent = 100.0 - 100.0 * left as f64 / count.max(1) as f64;
            format!(" {kind}={count} {missed}={left} percent_of_{kind}={percent:.2}")
        });
        format!("coverage {folder}{}\n", columns.collect::<String>())
    };
    Ok(folders.into_iter().chain(all).map(line).collect())
}

/// Debian's LLVM tools of the version that rustc was built with, since no other reads its profiles. If they
/// are missing, cargo-llvm-cov uses rustup's component `llvm-tools`.
fn matching_tools() -> Result<Vec<(&'static str, String)>> {
    let about = run::output(Command::new("rustc").arg("-vV"))?;
    let version = about.lines().find_map(|line| line.strip_prefix("LLVM version: ")).context("rustc names no LLVM")?;
    let major = version.split('.').next().unwrap_or(version);
    let tools = [("LLVM_COV", format!("llvm-cov-{major}")), ("LLVM_PROFDATA", format!("llvm-profdata-{major}"))];
    Ok(tools.into_iter().filter(|(_, program)| run::is_installed(program)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_branches_are_added_up_by_room_and_architecture() {
        let root = run::root();
        let file = |name: &str, lines: [u64; 2], branches: [u64; 2]| {
            let sums = |[count, covered]: [u64; 2]| serde_json::json!({"count": count, "covered": covered});
            let summary = serde_json::json!({"lines": sums(lines), "branches": sums(branches)});
            serde_json::json!({"filename": root.join(name), "summary": summary})
        };
        let files = [
            file("insn/src/a.rs", [10, 10], [0, 0]),
            file("insn/src/x86/b.rs", [6, 4], [4, 3]),
            file("insn/src/x86/deep/c.rs", [4, 4], [4, 4]),
        ];
        let json = serde_json::json!({"data": [{"files": files}]}).to_string();
        let expected = "coverage insn lines=10 missed=0 percent_of_lines=100.00 \
            branches=0 branches_missed=0 percent_of_branches=100.00\n\
            coverage insn/x86 lines=10 missed=2 percent_of_lines=80.00 \
            branches=8 branches_missed=1 percent_of_branches=87.50\n\
            coverage all lines=20 missed=2 percent_of_lines=90.00 \
            branches=8 branches_missed=1 percent_of_branches=87.50\n";
        assert_eq!(figures(&json).unwrap(), expected);
        assert!(figures("{}").is_err());
    }
}
