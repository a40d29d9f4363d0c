//! `cargo xtask test`: every lane.

use std::path::Path;

use anyhow::{Result, bail};

use crate::lanes::{self, Lane, SKIPPED, no_obstacle};
use crate::{arm64, cross, fuzz, generate, module, programs, run, setup};

/// The lanes, quickest to tell first.
pub(crate) fn lanes() -> Vec<Lane> {
    vec![
        Lane { name: "generated tables", obstacle: no_obstacle, step: |_| generate::run(true) },
        Lane { name: "tests", obstacle: no_obstacle, step: tests },
        Lane { name: "claims", obstacle: no_obstacle, step: claims },
        Lane { name: "fuzz", obstacle: fuzz::obstacle, step: fuzz::short },
        Lane { name: "arm64 (qemu-user)", obstacle: cross::user_obstacle, step: arm64::user },
        Lane { name: "arm64 (qemu-system)", obstacle: arm64::system_obstacle, step: arm64::system },
        Lane { name: "module (qemu-system)", obstacle: module::obstacle, step: module::run },
        Lane {
            name: "module under KASAN, lockdep and kmemleak (qemu-system)",
            obstacle: module::debug_obstacle,
            step: module::run_debug,
        },
        Lane {
            name: "module on the newest kernel (qemu-system)",
            obstacle: module::newest_obstacle,
            step: module::run_newest,
        },
        Lane { name: "documentation tests", obstacle: no_obstacle, step: documentation },
    ]
}

/// Runs every lane whose name contains `part`.
pub(crate) fn run(part: &str) -> Result<()> {
    for (name, why) in setup::missing_for_tests() {
        eprintln!("xtask: {name} is missing ({why}); `cargo xtask setup` installs it");
    }
    let chosen: Vec<Lane> = lanes().into_iter().filter(|lane| lane.name.contains(part)).collect();
    if chosen.is_empty() {
        bail!(
            "no lane is called {part}; there are: {}",
            lanes().iter().map(|lane| lane.name).collect::<Vec<_>>().join(", ")
        );
    }
    lanes::run_all(chosen)
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
    if setup::has_libclang() {
        arguments.extend(["--features", "bad64"]);
    } else {
        lanes::note_skipped(ledger, "claims beside bad64", "no libclang to build it")?;
    }
    run::run(programs::name_to(run::cargo(&arguments).env(SKIPPED, ledger)))
}

fn documentation(ledger: &Path) -> Result<()> {
    let arguments = ["test", "--workspace", "--exclude", "bench", "--doc", "--no-fail-fast"];
    run::run(run::cargo(&arguments).env(SKIPPED, ledger))
}
