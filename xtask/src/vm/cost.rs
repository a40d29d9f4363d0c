//! `cargo xtask vm cost`: what a hit costs, in instructions of the machine and in time, by the module and by others, and how hits of two
//! processors scale.

use std::path::Path;

use anyhow::{Result, bail};

use super::build::{cargo, target_folder};
use super::job::Job;
use super::machine::{Arch, Boot, Machine};
use super::script::quote;
use super::{loaded, module};
use crate::run;

/// The program of the package `crossing` that measures.
const PROGRAM: &str = "cost";

/// Measures, and prints tables.
pub(crate) fn run(machine: Machine) -> Result<()> {
    run::run(&mut cargo(machine.arch, &["build", "--release", "--package", "crossing", "--bin", PROGRAM])?)?;
    let program = target_folder(machine.arch).join("release").join(PROGRAM);
    let module = module::build(machine)?;
    for what in ["", "nanoseconds", "scaling"] {
        let mut job = Job::new(machine)?;
        job.boot_as(Boot { counted: what.is_empty(), ..Boot::default() });
        let script = format!("{} {what}\nstatus=$?\n", quote(&program));
        let status = job.run(&format!("{}exit $status\n", loaded::around(machine, &module, &script)))?;
        loaded::verdict(machine, job.folder())?;
        if status != 0 {
            bail!("{PROGRAM} {what} failed: {status}");
        }
    }
    if machine.arch == Arch::X86_64 {
        least(machine, &program)?;
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
