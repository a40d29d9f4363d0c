//! `cargo xtask test`: every lane.

use std::path::Path;

use anyhow::Result;

use crate::lanes::{self, Lane, SKIPPED, no_obstacle};
use crate::{fuzz, generate, run, setup};

/// The lanes, quickest to tell first.
pub(crate) fn lanes() -> Vec<Lane> {
    vec![
        Lane { name: "generated tables", obstacle: no_obstacle, step: |_| generate::run(true) },
        Lane { name: "tests", obstacle: no_obstacle, step: tests },
        Lane { name: "claims", obstacle: no_obstacle, step: claims },
        Lane { name: "fuzz", obstacle: fuzz::obstacle, step: |_| fuzz::short() },
        Lane { name: "documentation tests", obstacle: no_obstacle, step: documentation },
    ]
}

/// Runs every lane.
pub(crate) fn run() -> Result<()> {
    for (name, why) in setup::missing_for_tests() {
        eprintln!("xtask: {name} is missing ({why}); `cargo xtask setup` installs it");
    }
    lanes::run_all(lanes())
}

/// Unit and integration tests, examples; the benchmarks with their peers are not built.
fn tests(ledger: &Path) -> Result<()> {
    let arguments =
        ["test", "--workspace", "--exclude", "bench", "--exclude", "claims", "--all-targets", "--no-fail-fast"];
    run::run(run::cargo(&arguments).env(SKIPPED, ledger))
}

/// What the fuzzer checks, over the checked-in corpus and some random inputs; beside all peers that can be built.
fn claims(ledger: &Path) -> Result<()> {
    let mut arguments = vec!["test", "--package", "claims", "--all-targets", "--no-fail-fast"];
    if run::is_installed("cmake") {
        arguments.extend(["--features", "zydis"]);
    } else {
        lanes::note_skipped(ledger, "claims beside Zydis", "no cmake to build it")?;
    }
    run::run(run::cargo(&arguments).env(SKIPPED, ledger))
}

fn documentation(ledger: &Path) -> Result<()> {
    let arguments = ["test", "--workspace", "--exclude", "bench", "--doc", "--no-fail-fast"];
    run::run(run::cargo(&arguments).env(SKIPPED, ledger))
}
