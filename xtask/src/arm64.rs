//! The lanes that run on arm64.

use std::path::Path;

use anyhow::Result;

use crate::suite::{Setting, Suite};
use crate::vm::{self, Arch, Batch, Boot, Kind};
use crate::{cross, lanes, module_tests, targets};

/// Tests that need no debuggee: qemu-user runs them.
const PURE: &[&str] = &["insn/*", "stepping/*", "trampoline/*", "tests/tests/lockstep_arm64/main.rs"];
/// Tests that need a kernel: ptrace, or memory that is mapped as on hardware.
const SYSTEM: &[&str] = &[
    "cli/tests/arm64/*",
    "cli/tests/count.rs",
    "cli/tests/messages.rs",
    "cli/tests/survey.rs",
    "insn/tests/arm64/*",
    "insn/tests/guard_page.rs",
    "record/tests/arm64.rs",
    "tests/tests/kprobes/main.rs",
    "tests/tests/uprobes/main.rs",
    "ubp/src/lib.rs",
    "ubp/tests/arm64/*",
    "ubp/tests/breakpoints.rs",
    "ubp/tests/code.rs",
    "ubp/tests/forks.rs",
    "ubp/tests/jumps/main.rs",
    "ubp/tests/kinds.rs",
    "ubp/tests/modules.rs",
    "ubp/tests/spawn.rs",
    "ubp/tests/threads.rs",
];
/// Tests that take minutes more in the machine. They run if [`ALL`] is `all`.
const LONG: &[&str] = &[
    "cli/tests/attach.rs",
    "cli/tests/locations.rs",
    "cli/tests/names.rs",
    "cli/tests/record.rs",
    "cli/tests/stacks.rs",
    "cli/tests/trace.rs",
    "cli/tests/whole_program.rs",
    "record/tests/recorder.rs",
    "symbols/tests/examples.rs",
    "tests/tests/whole_*",
    "ubp/tests/attach.rs",
    "ubp/tests/batch.rs",
    "ubp/tests/signals.rs",
];
/// The variable that asks for long runs of programs if it is `all`.
const ALL: &str = "NTRACE_WHOLE_PROGRAMS";
/// The boot for tests of [`SYSTEM`] and [`LONG`], which write code that other threads run.
const IN_TURN: Boot = Boot { in_turn: true, counted: false };
/// Tests that compare files of the checkout, which the host's lane has done.
const OF_THE_CHECKOUT: &str = "tables_are_in_sync";

/// The test programs that a lane of arm64 runs, built for it: one build serves all lanes. A long run builds every program of the checkout.
pub(crate) fn suite() -> Result<Suite> {
    if is_all() {
        let rooms = [
            "test",
            "--workspace",
            "--exclude",
            "bench",
            "--exclude",
            "claims",
            "--exclude",
            "models",
            "--exclude",
            "xtask",
        ];
        return Suite::build(cross::cargo(&rooms)?.arg("--all-targets"));
    }
    let patterns = [PURE, SYSTEM, &module_tests::patterns(Arch::Arm64), module_tests::IN_TURN].concat();
    Suite::build(cross::cargo(&["test"])?.args(targets::arguments(&patterns)?))
}

/// Whether this run includes [`LONG`].
fn is_all() -> bool {
    std::env::var_os(ALL).is_some_and(|value| value == "all")
}

/// The tests of [`PURE`], by qemu-user.
pub(crate) fn user(ledger: &Path) -> Result<()> {
    let runner = cross::runner();
    let setting = Setting { runner: &runner, arguments: &["--skip", OF_THE_CHECKOUT], ..Setting::default() };
    suite()?.select(PURE)?.run("arm64 by qemu-user", ledger, &setting)
}

/// Why nothing runs in a virtual machine of arm64 here.
pub(crate) fn system_obstacle() -> Option<String> {
    cross::obstacle().or_else(|| vm::obstacle(Arch::Arm64.machine(Kind::Debian)))
}

/// The tests of [`SYSTEM`] in the virtual machine, and those of [`LONG`].
pub(crate) fn system(ledger: &Path) -> Result<()> {
    let run = |patterns| {
        Batch::of(Arch::Arm64.machine(Kind::Debian), suite()?.select(patterns)?).boot_as(IN_TURN).run(ledger)
    };
    run(SYSTEM)?;
    if is_all() {
        return run(LONG);
    }
    for test in LONG {
        lanes::note_skipped(ledger, &format!("{test} on arm64"), &format!("{ALL} is not all"))?;
    }
    Ok(())
}
