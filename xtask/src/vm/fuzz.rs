//! `cargo xtask vm fuzz`: streams of commands against the module, in the machine.

use anyhow::{Result, bail};

use super::build::{cargo, target_folder};
use super::job::Job;
use super::machine::Machine;
use super::script::quote;
use super::{loaded, module};
use crate::run;

/// The program of the package `crossing` that writes the streams.
const PROGRAM: &str = "channel";

/// Writes streams of commands for `seconds`; fails where the program or the kernel finds something wrong.
pub(crate) fn run(machine: Machine, seconds: u32, seed: u64) -> Result<()> {
    run::run(&mut cargo(machine.arch, &["build", "--package", "crossing", "--bin", PROGRAM])?)?;
    let program = target_folder(machine.arch).join("debug").join(PROGRAM);
    let module = module::build(machine)?;
    let mut job = Job::new(machine)?;
    job.extend(seconds);
    let script = format!("export RUST_BACKTRACE=1\n{} fuzz {seconds} {seed}\nstatus=$?\n", quote(&program));
    let status = job.run(&format!("{}exit $status\n", loaded::around(machine, &module, &script)))?;
    loaded::verdict(machine, job.folder())?;
    if status != 0 {
        bail!("{PROGRAM} fuzz {seconds} {seed} failed: {status}");
    }
    Ok(())
}
