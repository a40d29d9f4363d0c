//! `cargo xtask module`: ntrace.ko for a kernel of Debian's, out of packages alone.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::vm::{self, Arch, Kind};
use crate::{deb, run};

/// For which kernel.
#[derive(Args)]
pub(crate) struct Options {
    /// Its release, such as 7.3.4+deb13-amd64: of a kernel whose headers are installed, or of one of `cargo xtask vm`, of any architecture; by
    /// default the running kernel
    #[arg(long = "kernel", value_name = "RELEASE")]
    release: Option<String>,
}

/// Builds it and prints its path.
pub(crate) fn build(options: &Options) -> Result<()> {
    let release = match &options.release {
        Some(release) => release.clone(),
        None => run::output(Command::new("uname").arg("--kernel-release"))?.trim().to_owned(),
    };
    let headers = Path::new("/lib/modules").join(&release).join("build");
    if headers.exists() {
        let folder = run::root().join("target/kmod").join(&release);
        deb::copy_files(&deb::sources()?, &folder)?;
        run::run(Command::new("sh").arg("kmod/dkms/build").arg(&release).arg(&headers).current_dir(&folder))?;
        println!("{}", folder.join("module/ntrace.ko").display());
        return Ok(());
    }
    if options.release.is_some() {
        for machine in [Arch::X86_64, Arch::Arm64].map(|arch| arch.machine(Kind::Debian)) {
            vm::bring(machine)?;
            if vm::release(machine.arch)? == release {
                println!("{}", vm::build_module(machine)?.display());
                return Ok(());
            }
        }
    }
    bail!("no headers of Linux {release} in {}: apt install linux-headers-{release}", headers.display())
}
