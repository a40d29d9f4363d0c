//! The lanes that run the tests on this machine.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::lanes::{self, SKIPPED};
use crate::suite::{NTRACE, Setting, Suite};
use crate::{apt, assembler, collectors, cross, debuginfod, programs, run, viewer};

/// Rounds of each storm in a long run.
const ROUNDS: &str = "2000";

/// Unit tests, integration tests and examples of all rooms but the benchmarks. The claims use the peers that can be built.
pub(crate) fn tests(ledger: &Path) -> Result<()> {
    for (peer, why_not) in peers() {
        if let Some(reason) = why_not {
            lanes::note_skipped(ledger, &format!("claims beside {peer}"), reason)?;
        }
    }
    let mut suite = suite()?;
    // Another lane runs this test.
    suite.programs.retain(|program| program.name != assembler::TEST && program.name != assembler::OPERANDS);
    let outside = [programs::variable(), debuginfod::variable(), viewer::variable()];
    let mut variables: Vec<_> = outside.into_iter().flatten().collect();
    variables.extend(collectors::variables());
    if lanes::is_long() {
        variables.push(("NTRACE_STORM", ROUNDS.into()));
    }
    variables.extend(suite.ntrace.clone().map(|path| (NTRACE, path)));
    suite.run("host", ledger, &Setting { variables, ..Setting::default() })
}

/// The comparison with the newest assembler: of some encodings, and of all in a long run.
pub(crate) fn assembler(ledger: &Path) -> Result<()> {
    let setting = Setting { variables: Vec::from_iter(assembler::variable()), ..Setting::default() };
    suite()?.select(&[assembler::TEST, assembler::NAMES, assembler::OPERANDS])?.run(
        "newest assembler",
        ledger,
        &setting,
    )
}

/// The examples in the documentation.
pub(crate) fn documentation(ledger: &Path) -> Result<()> {
    run::run(cargo_test().args(["--doc", "--no-fail-fast"]).env(SKIPPED, ledger))
}

/// The first Rust that builds bad64 0.13.
const BAD64: &str = "1.88";

/// Every test program of the checkout, built for this machine: one build serves all lanes.
pub(crate) fn suite() -> Result<Suite> {
    Suite::build(cargo_test().arg("--all-targets"))
}

/// `cargo test` of all packages that have tests, with the same features for whatever is built.
fn cargo_test() -> Command {
    let mut command = run::cargo(&["test", "--workspace", "--exclude", "bench"]);
    for (peer, _) in peers().into_iter().filter(|(_, why_not)| why_not.is_none()) {
        command.args(["--features", &format!("claims/{peer}")]);
    }
    command
}

/// The peers of the claims that are written in C, each with the reason why it cannot be built here.
fn peers() -> [(&'static str, Option<&'static str>); 2] {
    [("zydis", (!run::is_installed("cmake")).then_some("no cmake to build it")), ("bad64", bad64_obstacle())]
}

fn bad64_obstacle() -> Option<&'static str> {
    if !apt::has_libclang() {
        return Some("no libclang to build it");
    }
    let told = run::output(&mut run::cargo(&["--version"])).unwrap_or_default();
    let version = told.split_whitespace().nth(1).unwrap_or_default();
    (cross::numbers(version) < cross::numbers(BAD64)).then_some("its code needs Rust 1.88")
}
