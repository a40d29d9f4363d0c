//! `cargo xtask vm cost`: what a hit costs, in instructions of the machine and in time, by the module and by others, and how hits of two
//! processors scale; and what it costs a process that nobody traces.

use std::path::Path;

use anyhow::{Result, bail};

use super::build::{cargo, target_folder};
use super::job::{HERE, Job};
use super::machine::{Arch, Boot, Machine};
use super::script::quote;
use super::{loaded, module};
use crate::run;

/// The program of the package `crossing` that measures.
const PROGRAM: &str = "cost";

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Instructions of a hit and of a system call that is told of
    Instructions,
    /// Their time
    Nanoseconds,
    /// Hits of two processors at once
    Scaling,
    /// Processes that nobody traces
    Bystanders,
    /// The least that a trap costs, on x86-64
    Trap,
}

/// Measures, and prints tables.
pub(crate) fn run(machine: Machine, only: Option<What>) -> Result<()> {
    run::run(&mut cargo(machine.arch, &["build", "--release", "--package", "crossing", "--bin", PROGRAM])?)?;
    let program = target_folder(machine.arch).join("release").join(PROGRAM);
    let module = module::build(machine)?;
    let wants = |what| only.is_none_or(|only| only == what);
    for (what, argument) in [(What::Instructions, ""), (What::Nanoseconds, "nanoseconds"), (What::Scaling, "scaling")] {
        if wants(what) {
            hits(machine, &program, &module, argument)?;
        }
    }
    if wants(What::Bystanders) {
        bystanders(machine, &program, &module)?;
    }
    if wants(What::Trap) && machine.arch == Arch::X86_64 {
        least(machine, &program)?;
    }
    Ok(())
}

/// What hits cost by the module and by others, as the program's argument says.
fn hits(machine: Machine, program: &Path, module: &Path, argument: &str) -> Result<()> {
    let mut job = Job::new(machine)?;
    job.boot_as(Boot { counted: argument.is_empty(), ..Boot::default() });
    let script = format!("{} {argument}\nstatus=$?\n", quote(program));
    let status = job.run(&format!("{}exit $status\n", loaded::around(machine, module, &script)))?;
    loaded::verdict(machine, job.folder())?;
    if status != 0 {
        bail!("{PROGRAM} {argument} failed: {status}");
    }
    Ok(())
}

/// What a process pays that nobody traces, with the module absent, loaded and busy, in one boot.
fn bystanders(machine: Machine, program: &Path, module: &Path) -> Result<()> {
    let mut job = Job::new(machine)?;
    job.boot_as(Boot { counted: true, ..Boot::default() });
    let measure = |state: &str| format!("{} bystanders {state} {HERE}/bystanders", quote(program));
    let loaded = ["loaded", "busy", "followed", "print"].map(measure).join(" && ");
    let script = format!("{loaded}\nstatus=$?\n");
    // The first figures of a machine that has just begun are of memory that the kernel gets for the first time.
    let before = format!("{0} && rm {HERE}/bystanders && {0} || exit 1", measure("absent"));
    let script = format!("{before}\n{}exit $status\n", loaded::around(machine, module, &script));
    let status = job.run(&script)?;
    loaded::verdict(machine, job.folder())?;
    if status != 0 {
        bail!("{PROGRAM} bystanders failed: {status}");
    }
    Ok(())
}

/// The cost of the trap itself, whoever handles it.
fn least(machine: Machine, program: &Path) -> Result<()> {
    let mut job = Job::new(machine)?;
    job.boot_as(Boot { counted: true, ..Boot::default() });
    let floor = quote(&module::floor(machine)?);
    let status = job.run(&format!("insmod {floor} || exit 1\n{} trap\n", quote(program)))?;
    if status != 0 {
        bail!("{PROGRAM} trap failed: {status}");
    }
    Ok(())
}
