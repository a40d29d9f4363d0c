//! `cargo xtask test`: every lane.

use std::path::Path;

use anyhow::Result;

use crate::lanes::{self, Lane, SKIPPED, no_obstacle};
use crate::{generate, run, setup};

/// The lanes, quickest to tell first.
pub(crate) fn lanes() -> Vec<Lane> {
    vec![
        Lane { name: "generated tables", obstacle: no_obstacle, step: |_| generate::run(true) },
        Lane { name: "tests", obstacle: no_obstacle, step: tests },
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
    let arguments = ["test", "--workspace", "--exclude", "bench", "--all-targets", "--no-fail-fast"];
    run::run(run::cargo(&arguments).env(SKIPPED, ledger))
}

fn documentation(ledger: &Path) -> Result<()> {
    let arguments = ["test", "--workspace", "--exclude", "bench", "--doc", "--no-fail-fast"];
    run::run(run::cargo(&arguments).env(SKIPPED, ledger))
}
