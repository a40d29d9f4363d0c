//! Debian's packages of another architecture, downloaded and unpacked without being installed: no root is needed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::run;

/// The keys of all of Debian's suites.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Whether packages of that architecture (Debian's name) can be found.
pub(crate) fn knows(architecture: &str) -> bool {
    let policy = run::output(Command::new("apt-cache").arg("policy").arg(format!("libc6:{architecture}")));
    policy.is_ok_and(|text| text.contains("Candidate:") && !text.contains("Candidate: (none)"))
}

/// The version of an installed package.
pub(crate) fn version(package: &str) -> Option<String> {
    let text = run::output(Command::new("dpkg-query").args(["--show", "--showformat=${Version}", package])).ok()?;
    (!text.is_empty()).then_some(text)
}

/// The newest version of a package that a source of this machine offers, where the installed one comes from no source any more.
pub(crate) fn version_to_return_to(package: &str) -> Option<String> {
    let installed = version(package)?;
    // One line each, the newest first: `NAME | VERSION | SOURCE`.
    let offers = run::output(Command::new("apt-cache").args(["madison", package])).ok()?;
    let mut versions = offers.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim);
    let newest = versions.next()?;
    (installed != newest && versions.all(|version| version != installed)).then(|| newest.to_owned())
}

/// Unpacks packages (`NAME`, `NAME:ARCHITECTURE=VERSION`) into `folder`, without those that they depend on.
pub(crate) fn unpack_alone(packages: &[&str], folder: &Path) -> Result<()> {
    let downloads = fresh(&folder.with_extension("downloads"))?;
    run::run(apt_get(&downloads).arg("download").args(packages).current_dir(&downloads))?;
    unpack_all(&downloads, folder)?;
    remove(&downloads)
}

/// Unpacks packages and all that they depend on into `root`. No package's scripts are run.
pub(crate) fn unpack_with_dependencies(architecture: &str, packages: &[&str], root: &Path) -> Result<()> {
    let downloads = fresh(&root.with_extension("downloads"))?;
    fs::create_dir_all(downloads.join("archives/partial"))?;
    let mut command = apt_get(&downloads);
    command.args(["-o", "Dir::State::status=/dev/null", "-o", "Debug::NoLocking=1"]);
    command.arg("-o").arg(format!("APT::Architecture={architecture}"));
    command.args(["--download-only", "-y", "--no-install-recommends", "install"]).args(packages);
    run::run(&mut command)?;
    // These are links in Debian, which no package brings.
    for name in ["bin", "lib", "lib64", "sbin"] {
        fs::create_dir_all(root.join("usr").join(name))?;
        if !root.join(name).exists() {
            symlink(Path::new("usr").join(name), root.join(name))?;
        }
    }
    unpack_all(&downloads.join("archives"), root)?;
    remove(&downloads)
}

/// Unpacks the package of highest version among those whose names begin with `prefix`, a number behind it, of another suite of Debian
/// into `folder`: from the mirrors of this system, whose own sources stay as they are.
pub(crate) fn unpack_newest(suite: &str, prefix: &str, folder: &Path) -> Result<()> {
    let apart = fresh(&folder.with_extension("apt"))?;
    let (sources, lists) = (apart.join("sources.list"), apart.join("lists"));
    fs::create_dir_all(lists.join("partial"))?;
    let mirrors =
        run::output(Command::new("apt-get").args(["indextargets", "--format=$(REPO_URI)", "Origin: Debian"]))?;
    let mirror = mirrors.lines().find(|mirror| !mirror.contains("security")).context("no source of apt is Debian's")?;
    fs::write(&sources, format!("deb [signed-by={KEYS}] {mirror} {suite} main\n"))?;
    let settings = [
        format!("Dir::Etc::SourceList={}", sources.display()),
        "Dir::Etc::SourceParts=/dev/null".into(),
        format!("Dir::State::Lists={}", lists.display()),
        format!("Dir::Cache={}", apart.display()),
        "Acquire::Languages=none".into(),
        "APT::Sandbox::User=root".into(),
    ];
    let apt = |program: &str| {
        let mut command = Command::new(program);
        command.args(settings.iter().flat_map(|setting| ["-o", setting]));
        command
    };
    run::run(apt("apt-get").args(["-q", "update"]))?;
    let names = run::output(apt("apt-cache").args(["pkgnames", prefix]))?;
    let newest = newest(&names, prefix).with_context(|| format!("no package {prefix}* in {suite}"))?;
    let downloads = fresh(&folder.with_extension("downloads"))?;
    let package = format!("{newest}/{suite}");
    run::run(apt("apt-get").args(["-q", "download", &package]).current_dir(&downloads))?;
    unpack_all(&downloads, folder)?;
    remove(&downloads)?;
    remove(&apart)
}

/// Of names, a line each, the one with the greatest version behind `prefix`.
fn newest<'a>(names: &'a str, prefix: &str) -> Option<&'a str> {
    let version = |name: &&str| -> Option<Vec<u32>> {
        name.strip_prefix(prefix)?.split('.').map(|number| number.parse().ok()).collect()
    };
    names.lines().filter(|name| version(name).is_some()).max_by_key(version)
}

/// `apt-get` with a cache of its own.
fn apt_get(downloads: &Path) -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-q", "-o", "APT::Sandbox::User=root"]);
    command.arg("-o").arg(format!("Dir::Cache={}", downloads.display()));
    command
}

fn unpack_all(downloads: &Path, folder: &Path) -> Result<()> {
    let entries = fs::read_dir(downloads).with_context(|| format!("cannot read {}", downloads.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension() == Some(OsStr::new("deb")));
    files.sort();
    if files.is_empty() {
        bail!("apt-get downloaded nothing");
    }
    for file in files {
        unpack(&file, folder)?;
    }
    Ok(())
}

/// What `dpkg --extract` does, but for links to folders, which stay links.
fn unpack(package: &Path, folder: &Path) -> Result<()> {
    let mut contents = Command::new("dpkg-deb");
    let mut contents = contents.arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).spawn()?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--keep-directory-symlink", "--directory"]).arg(folder);
    if let Some(pipe) = contents.stdout.take() {
        tar.stdin(pipe);
    }
    let unpacked = tar.status().context("cannot start tar")?;
    if !unpacked.success() || !contents.wait()?.success() {
        bail!("cannot unpack {}", package.display());
    }
    Ok(())
}

/// An empty folder of that name.
fn fresh(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        remove(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_path_buf())
}

fn remove(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_package_has_the_greatest_number_behind_its_name() {
        let names = "linux-source-7.2\nlinux-source\nlinux-source-6.12\nlinux-source-7.10\nlinux-source-rt\n";
        assert_eq!(newest(names, "linux-source-"), Some("linux-source-7.10"));
        assert_eq!(newest(names, "linux-image-"), None);
    }
}
