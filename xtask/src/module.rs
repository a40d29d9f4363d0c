//! The lanes of the kernel module.

use std::path::Path;

use anyhow::Result;

use crate::arm64;
use crate::lanes;
use crate::vm::{self, Arch, Batch, Machine};

/// What is run with the module loaded, as `cargo test` selects it: its own tests, and those of the rooms that use it.
const CHANNEL: [&str; 4] = ["--package", "crossing", "--test", "channel*"];
/// Every-instruction programs, which take longer on debug kernels than a test may.
const WHOLE: [&str; 2] = ["--test", "whole_counts"];
const LOCKSTEP: [&str; 2] = ["--test", "lockstep_*"];
const OF_ARM64: [&str; 4] = ["--test", "lockstep_arm64", "--test", "arm64"];
const UBP: [&str; 14] = [
    "--package",
    "ubp",
    "--test",
    "batch",
    "--test",
    "breakpoints",
    "--test",
    "code",
    "--test",
    "forks",
    "--test",
    "kernel",
    "--test",
    "spawn",
];
const COMMAND: [&str; 8] = ["--package", "ntrace", "--test", "attach", "--test", "backends", "--test", "count"];
/// The variable that has debug kernels built where it is `build`.
const DEBUG_KERNEL: &str = "NTRACE_DEBUG_KERNEL";
const ARCHITECTURES: [Arch; 2] = [Arch::X86_64, Arch::Arm64];

/// Why the module cannot be tried here.
pub(crate) fn obstacle() -> Option<String> {
    vm::obstacle(Arch::X86_64.machine()).or_else(arm64::system_obstacle)
}

/// Builds the module, loads it in a virtual machine of each architecture, runs the tests and unloads it.
pub(crate) fn run(ledger: &Path) -> Result<()> {
    for arch in ARCHITECTURES {
        run_on(arch.machine(), ledger)?;
    }
    Ok(())
}

fn run_on(machine: Machine, ledger: &Path) -> Result<()> {
    let of_arch = match machine.arch {
        Arch::X86_64 => &LOCKSTEP[..],
        Arch::Arm64 => &OF_ARM64,
    };
    let whole = if machine.debug_kernel { &[][..] } else { &WHOLE };
    let tests = [&CHANNEL[..], whole, &UBP, of_arch].concat();
    Batch::build(machine, &tests)?.with_module()?.run(Some(ledger))?;
    // By themselves: cargo takes the names for those of all packages.
    Batch::build(machine, &COMMAND)?.with_module()?.run(Some(ledger))
}

/// Why the module cannot be tried with a debug kernel of any architecture.
pub(crate) fn debug_obstacle() -> Option<String> {
    let reasons: Vec<String> = ARCHITECTURES.into_iter().filter_map(why_not).collect();
    obstacle().or_else(|| (reasons.len() == ARCHITECTURES.len()).then(|| reasons.join("; ")))
}

/// The same with those debug kernels that are there, or are asked for.
pub(crate) fn run_debug(ledger: &Path) -> Result<()> {
    for arch in ARCHITECTURES {
        match why_not(arch) {
            Some(reason) => lanes::note_skipped(ledger, &format!("debug kernel on {}", arch.name()), &reason)?,
            None => {
                run_on(debug(arch), ledger)?;
                lanes::note_skipped(
                    ledger,
                    &format!("whole_counts on a debug kernel, {}", arch.name()),
                    "it is slow there",
                )?;
            }
        }
    }
    Ok(())
}

/// Why no debug kernel is booted: building one takes as long as all else.
fn why_not(arch: Arch) -> Option<String> {
    let asked = std::env::var_os(DEBUG_KERNEL).is_some_and(|value| value == "build");
    let reason = format!("not built, and {DEBUG_KERNEL} is not build: cargo xtask vm build --debug-kernel --arch ");
    let is_there = vm::has_kernel(debug(arch)) || asked && vm::obstacle(debug(arch)).is_none();
    (!is_there).then(|| reason + arch.name())
}

fn debug(arch: Arch) -> Machine {
    Machine { debug_kernel: true, ..arch.machine() }
}
