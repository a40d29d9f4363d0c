//! The trial of the packages: apt installs them in a new Debian, DKMS builds the module there, that Debian boots in a virtual machine with its own
//! kernel, and users use the module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::apt::{self, Package};
use crate::run;

/// What makes a Debian and its disk.
const TOOLS: &[Package] = &[
    Package { name: "debootstrap", sign: "debootstrap", why: "a new Debian" },
    Package { name: "e2fsprogs", sign: "mkfs.ext4", why: "its disk" },
    Package { name: "qemu-system-x86", sign: "qemu-system-x86_64", why: "its machine" },
];
/// Scripts that run in the new Debian: the first in a changed root, the second in the virtual machine.
const SCRIPTS: &str = "tests/vm/package";
/// Where scripts and packages lie in the new Debian, and the file that says that the packages were installed.
const TRIAL: &str = "trial";
const INSTALLED: &str = "trial/installed";
/// The last line of the second script.
const PASSED: &str = "trial: passed";
/// The most seconds of the virtual machine.
const MOST_SECONDS: &str = "3600";
/// Mounts what programs expect, in a mount namespace that ends with the script, and installs.
const ENTER: &str =
    "mount -t proc proc \"$1/proc\" && mount -t sysfs sysfs \"$1/sys\" && mount --rbind /dev \"$1/dev\" &&
    exec chroot \"$1\" env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin sh /trial/install";

/// Tries packages in a Debian that is made in `folder`.
pub(super) fn run(packages: &[PathBuf], folder: &Path) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        bail!("the trial has a machine of x86-64 alone");
    }
    apt::install(TOOLS)?;
    let root = folder.join("root");
    if !has_installed(packages, &root) {
        if root.exists() {
            bail!("{} exists, without these packages: the trial wants a new Debian; remove it", root.display());
        }
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        let mut debootstrap = Command::new("debootstrap");
        run::run(debootstrap.args(["--variant=minbase", "--include=ca-certificates", "trixie"]).arg(&root))?;
        install(packages, &root)?;
        let mark = root.join(INSTALLED);
        fs::write(&mark, "").with_context(|| format!("cannot write {}", mark.display()))?;
    }
    copy_scripts(&root)?;
    let disk = folder.join("disk");
    run::run(Command::new("mkfs.ext4").args(["-q", "-F", "-d"]).arg(&root).arg(&disk).arg("8G"))?;
    let log = boot(&root.join("boot"), &disk)?;
    fs::remove_file(&disk).with_context(|| format!("cannot remove {}", disk.display()))?;
    if !log.lines().any(|line| line.trim_end().ends_with(PASSED)) {
        bail!("the trial failed; the lines above say where");
    }
    Ok(())
}

/// Whether a trial that failed later has installed these packages, so that only what follows is repeated.
fn has_installed(packages: &[PathBuf], root: &Path) -> bool {
    let is_same = |package: &PathBuf| {
        let there = root.join(TRIAL).join(package.file_name().unwrap_or_default());
        matches!((fs::read(package), fs::read(there)), (Ok(new), Ok(old)) if new == old)
    };
    root.join(INSTALLED).exists() && packages.iter().all(is_same)
}

fn copy_into(file: &Path, root: &Path) -> Result<()> {
    let folder = root.join(TRIAL);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let to = folder.join(file.file_name().unwrap_or_default());
    fs::copy(file, to).with_context(|| format!("cannot copy {}", file.display())).map(drop)
}

fn copy_scripts(root: &Path) -> Result<()> {
    let scripts = ["install", "session", "trial.service"].map(|name| run::root().join(SCRIPTS).join(name));
    scripts.iter().try_for_each(|script| copy_into(script, root))
}

/// Installs Debian's newest kernel and the packages.
fn install(packages: &[PathBuf], root: &Path) -> Result<()> {
    copy_scripts(root)?;
    packages.iter().try_for_each(|package| copy_into(package, root))?;
    for file in ["etc/resolv.conf", "etc/hosts"] {
        fs::copy(Path::new("/").join(file), root.join(file)).with_context(|| format!("cannot copy {file}"))?;
    }
    let mut enter = Command::new("unshare");
    run::run(enter.args(["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"]).arg(root))
}

/// Boots the kernel of a folder with a disk; returns what the console said.
fn boot(folder: &Path, disk: &Path) -> Result<String> {
    let only = |start: &str| {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut files = entries.flatten().map(|entry| entry.path());
        let file = files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
        file.with_context(|| format!("no {start}* in {}", folder.display()))
    };
    let mut machine = Command::new("timeout");
    machine.args([
        "--foreground",
        MOST_SECONDS,
        "qemu-system-x86_64",
        "-M",
        "pc",
        "-cpu",
        "max",
        "-m",
        "2G",
        "-smp",
        "2",
    ]);
    machine.args(["-accel", "tcg,thread=multi", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]);
    machine
        .args(["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console", "-kernel"])
        .arg(only("vmlinuz-")?);
    machine.arg("-initrd").arg(only("initrd.img-")?).args(["-append", "root=/dev/vda rw console=ttyS0 panic=-1"]);
    // QEMU wants a comma in a path doubled.
    let path = disk.display().to_string().replace(',', ",,");
    machine.arg("-drive").arg(format!("file={path},format=raw,if=virtio")).stdin(Stdio::null());
    let output = machine.stderr(Stdio::inherit()).output().context("cannot start timeout")?;
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    eprintln!("{log}");
    if !output.status.success() {
        bail!("the virtual machine failed: {}", output.status);
    }
    Ok(log)
}
