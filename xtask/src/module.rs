//! The lanes of the kernel module.

use std::path::Path;

use anyhow::Result;

use crate::module_tests::{IN_TURN, WHOLE, patterns};
use crate::vm::{self, Arch, Batch, Boot, Kind, Machine};
use crate::{arm64, host, lanes};

const ARCHITECTURES: [Arch; 2] = [Arch::X86_64, Arch::Arm64];

/// Why the module cannot be tried on x86-64 here.
pub(crate) fn x86_obstacle() -> Option<String> {
    vm::obstacle(Arch::X86_64.machine(Kind::Debian))
}

/// Why the module cannot be tried on arm64 here.
pub(crate) fn arm64_obstacle() -> Option<String> {
    arm64::system_obstacle()
}

/// Builds the module for Debian's kernel, loads it in a virtual machine of x86-64, runs the tests and unloads it.
pub(crate) fn on_x86(ledger: &Path) -> Result<()> {
    run_on(Arch::X86_64.machine(Kind::Debian), ledger)
}

/// Builds the module for Debian's kernel, loads it in a virtual machine of arm64, runs the tests and unloads it.
pub(crate) fn on_arm64(ledger: &Path) -> Result<()> {
    run_on(Arch::Arm64.machine(Kind::Debian), ledger)
}

/// Why the module cannot be tried with a kernel that is built here, of any architecture.
pub(crate) fn oldest_obstacle() -> Option<String> {
    built_obstacle(Kind::Oldest)
}

/// Runs the tests with the module on the oldest kernel, for each architecture whose kernel is built, or for all in a long run.
pub(crate) fn on_oldest(ledger: &Path) -> Result<()> {
    on_built(Kind::Oldest, ledger)
}

/// Why the module cannot be tried with a debug kernel of any architecture.
pub(crate) fn debug_obstacle() -> Option<String> {
    built_obstacle(Kind::Debug)
}

/// Runs the tests with the module on debug kernels, for each architecture whose kernel is built, or for all in a long run.
pub(crate) fn on_debug(ledger: &Path) -> Result<()> {
    on_built(Kind::Debug, ledger)
}

fn run_on(machine: Machine, ledger: &Path) -> Result<()> {
    let suite = match machine.arch {
        Arch::X86_64 => host::suite()?,
        Arch::Arm64 => arm64::suite()?,
    };
    let mut patterns = patterns(machine.arch);
    patterns.retain(|pattern| machine.kernel != Kind::Debug || !WHOLE.contains(pattern));
    Batch::of(machine, suite.clone().select(&patterns)?).with_module()?.run(ledger)?;
    let in_turn = Boot { in_turn: true, ..Boot::default() };
    Batch::of(machine, suite.select(IN_TURN)?).with_module()?.boot_as(in_turn).run(ledger)
}

fn built_obstacle(kernel: Kind) -> Option<String> {
    let reasons: Vec<String> = ARCHITECTURES.iter().filter_map(|arch| why_not(arch.machine(kernel))).collect();
    (reasons.len() == ARCHITECTURES.len()).then(|| reasons.join("; "))
}

fn on_built(kernel: Kind, ledger: &Path) -> Result<()> {
    for machine in ARCHITECTURES.map(|arch| arch.machine(kernel)) {
        let name = format!("{} kernel on {}", kernel.name(), machine.arch.name());
        if let Some(reason) = why_not(machine) {
            lanes::note_skipped(ledger, &name, &reason)?;
            continue;
        }
        vm::bring(machine)?;
        if let Some(reason) = vm::obstacle(machine) {
            lanes::note_skipped(ledger, &name, &reason)?;
            continue;
        }
        run_on(machine, ledger)?;
        if kernel == Kind::Debug {
            lanes::note_skipped(ledger, &format!("whole_counts with the {name}"), "it is slow there")?;
        }
    }
    Ok(())
}

/// Why an ordinary run has no such kernel: building one takes as long as all other lanes.
fn why_not(machine: Machine) -> Option<String> {
    let name = machine.kernel.name();
    (!vm::has_kernel(machine) && !lanes::is_long()).then(|| {
        format!(
            "not built: cargo xtask vm build --kernel {name} --arch {}, or cargo xtask test --long",
            machine.arch.name()
        )
    })
}
