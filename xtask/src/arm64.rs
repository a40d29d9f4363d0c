//! The lanes that run on arm64.

use std::path::Path;

use anyhow::Result;

use crate::lanes::{self, SKIPPED};
use crate::vm::{self, Arch, Batch, Boot};
use crate::{cross, run};

/// The rooms whose tests need nothing of a debuggee, and run by qemu-user; and the test of all rooms that does, too.
const PURE: &[&str] = &["insn", "stepping"];
const LOCKSTEP: &[&str] = &["--package", "crossing", "--test", "lockstep_arm64"];
/// The rooms of which tests run in a virtual machine, and these tests.
const ROOMS: &[&str] = &["insn", "record", "ubp", "ntrace", "crossing"];
const WHOLE: &[&str] = &[
    "arm64",
    "breakpoints",
    "code",
    "count",
    "forks",
    "guard_page",
    "kinds",
    "messages",
    "spawn",
    "survey",
    "threads",
];
/// Those that take minutes more there: run where [`ALL`] says so.
const LONG: &[&str] = &[
    "attach",
    "batch",
    "locations",
    "record",
    "recorder",
    "signals",
    "trace",
    "whole_counts",
    "whole_program",
    "whole_programs",
    "whole_storm",
];
/// The variable that asks for long runs of programs where it is `all`.
const ALL: &str = "NTRACE_WHOLE_PROGRAMS";
/// How both are run: they write code that other threads run.
const IN_TURN: Boot = Boot { in_turn: true, counted: false };
/// Tests that compare files of the checkout; the host has done so.
const OF_THE_CHECKOUT: &str = "tables_are_in_sync";

/// The tests of [`PURE`] rooms, and [`LOCKSTEP`], by qemu-user.
pub(crate) fn user(ledger: &Path) -> Result<()> {
    let mut command = cross::cargo(&["test", "--all-targets", "--no-fail-fast"])?;
    for room in PURE {
        command.args(["--package", room]);
    }
    run::run(command.args(["--", "--skip", OF_THE_CHECKOUT]).env(SKIPPED, ledger))?;
    run::run(cross::cargo(&["test"])?.args(LOCKSTEP).env(SKIPPED, ledger))
}

/// Why nothing runs in a virtual machine of arm64 here.
pub(crate) fn system_obstacle() -> Option<String> {
    cross::obstacle().or_else(|| vm::obstacle(Arch::Arm64.machine()))
}

/// What needs a kernel of arm64: ptrace, whole programs.
pub(crate) fn system(ledger: &Path) -> Result<()> {
    Batch::build(Arch::Arm64.machine(), &selection(WHOLE))?.boot_as(IN_TURN).run(Some(ledger))?;
    if std::env::var_os(ALL).is_some_and(|value| value == "all") {
        return Batch::build(Arch::Arm64.machine(), &selection(LONG))?.boot_as(IN_TURN).run(Some(ledger));
    }
    for test in LONG {
        lanes::note_skipped(ledger, &format!("{test} on arm64"), &format!("{ALL} is not all"))?;
    }
    Ok(())
}

/// These tests of all rooms that have some.
fn selection(tests: &[&'static str]) -> Vec<&'static str> {
    let rooms = ROOMS.iter().flat_map(|room| ["--package", room]);
    rooms.chain(tests.iter().flat_map(|test| ["--test", test])).collect()
}
