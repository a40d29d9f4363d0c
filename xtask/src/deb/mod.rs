//! `cargo xtask package`: Debian's packages of the command and of the module's source. debhelper makes them by `debian/`.

mod contents;
mod files;
mod trial;

pub(crate) use files::{copy_files, sources};

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::apt::{self, Package};
use crate::run;

/// What makes and judges packages.
const TOOLS: &[Package] = &[
    Package { name: "dpkg-dev", sign: "dpkg-buildpackage", why: "packages" },
    Package { name: "debhelper", sign: "dh", why: "packages" },
    Package { name: "dh-dkms", sign: "dh_dkms", why: "the package of the module" },
    Package { name: "lintian", sign: "lintian", why: "judging packages" },
];

/// What to do with the packages.
#[derive(Args)]
pub(crate) struct Options {
    /// Install them in a new Debian 13 in FOLDER, build the module there, boot that Debian in a virtual machine, use the module and remove the
    /// packages (as root; an hour and 8 GB)
    #[arg(long = "try", value_name = "FOLDER")]
    trial: Option<PathBuf>,
}

/// Makes the packages, and tries them if asked to.
pub(crate) fn run(options: &Options) -> Result<()> {
    apt::install(TOOLS)?;
    let packages = make()?;
    for package in &packages {
        println!("{}", package.display());
    }
    match &options.trial {
        Some(folder) => trial::run(&packages, folder),
        None => Ok(()),
    }
}

/// Makes the packages below target/debian from the files that git knows, and returns their paths.
fn make() -> Result<Vec<PathBuf>> {
    let folder = run::root().join("target/debian");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let copy = folder.join(concat!("ntrace-", env!("CARGO_PKG_VERSION")));
    copy_files(&[], &copy)?;
    let mut build = Command::new("dpkg-buildpackage");
    // The compiler is the one that runs this program, whatever Debian's packages say.
    build
        .args(["--build=binary", "--unsigned-source", "--unsigned-changes", "--no-check-builddeps"])
        .current_dir(&copy);
    build.env("CARGO_TARGET_DIR", run::root().join("target")).env("DEB_BUILD_OPTIONS", "noautodbgsym");
    run::run(&mut build)?;
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut packages: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    packages.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    packages.sort();
    for package in &packages {
        contents::check(package)?;
    }
    run::run(Command::new("lintian").args(["--fail-on", "error,warning", "--allow-root"]).args(&packages))?;
    Ok(packages)
}
