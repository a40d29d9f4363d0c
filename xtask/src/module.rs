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

/// Kernels other than the ordinary one: building one takes as long as all else, so that they are tried where they are built, or asked for.
struct Others {
    name: &'static str,
    /// The variable that has them built where it is `build`, and the option of `cargo xtask vm` that does.
    variable: &'static str,
    option: &'static str,
    machine: fn(Arch) -> Machine,
}

const DEBUG: Others = Others {
    name: "debug kernel",
    variable: "NTRACE_DEBUG_KERNEL",
    option: "--debug-kernel",
    machine: |arch| Machine { debug_kernel: true, ..arch.machine() },
};
const NEWEST: Others = Others {
    name: "newest kernel",
    variable: "NTRACE_NEWEST_KERNEL",
    option: "--newest-kernel",
    machine: |arch| Machine { newest_kernel: true, ..arch.machine() },
};

/// Why the module cannot be tried with a debug kernel of any architecture.
pub(crate) fn debug_obstacle() -> Option<String> {
    DEBUG.obstacle()
}

/// The same with those debug kernels that are there, or are asked for.
pub(crate) fn run_debug(ledger: &Path) -> Result<()> {
    DEBUG.run(ledger)
}

/// Why the module cannot be tried with the newest kernel of any architecture.
pub(crate) fn newest_obstacle() -> Option<String> {
    NEWEST.obstacle()
}

/// The same with the newest kernels.
pub(crate) fn run_newest(ledger: &Path) -> Result<()> {
    NEWEST.run(ledger)
}

impl Others {
    fn obstacle(&self) -> Option<String> {
        let reasons: Vec<String> = ARCHITECTURES.into_iter().filter_map(|arch| self.why_not(arch)).collect();
        obstacle().or_else(|| (reasons.len() == ARCHITECTURES.len()).then(|| reasons.join("; ")))
    }

    fn run(&self, ledger: &Path) -> Result<()> {
        for arch in ARCHITECTURES {
            let machine = (self.machine)(arch);
            if let Some(reason) = self.why_not(arch) {
                lanes::note_skipped(ledger, &format!("{} on {}", self.name, arch.name()), &reason)?;
                continue;
            }
            vm::bring(machine)?;
            run_on(machine, ledger)?;
            if machine.debug_kernel {
                let name = format!("whole_counts on a {}, {}", self.name, arch.name());
                lanes::note_skipped(ledger, &name, "it is slow there")?;
            }
        }
        Ok(())
    }

    /// Why no such kernel is booted.
    fn why_not(&self, arch: Arch) -> Option<String> {
        let Others { variable, option, .. } = self;
        let is_there =
            vm::has_kernel((self.machine)(arch)) || std::env::var_os(variable).is_some_and(|value| value == "build");
        (!is_there).then(|| {
            format!("not built, and {variable} is not build: cargo xtask vm build {option} --arch {}", arch.name())
        })
    }
}
