//! Packages of another architecture or suite of Debian, downloaded and unpacked without installation: this needs no root.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::run;

/// The keys of all of Debian's suites.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Whether apt finds packages of an architecture (Debian's name).
pub(crate) fn knows(architecture: &str) -> bool {
    can_be_found(&format!("libc6:{architecture}"))
}

/// The first of `packages` that apt finds, or the last one.
pub(crate) fn known_of<'a>(packages: &[&'a str]) -> &'a str {
    let known = packages.iter().find(|package| can_be_found(package));
    known.or(packages.last()).copied().unwrap_or_default()
}

/// Whether one of this machine's sources offers a package.
fn can_be_found(package: &str) -> bool {
    let policy = run::output(Command::new("apt-cache").args(["policy", package]));
    policy.is_ok_and(|text| text.contains("Candidate:") && !text.contains("Candidate: (none)"))
}

/// The packages that another one depends on, by this machine's sources; none where there is no such package.
pub(crate) fn dependencies(package: &str) -> Vec<String> {
    let told = run::output(Command::new("apt-cache").args(["depends", package])).unwrap_or_default();
    told.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).map(str::to_owned).collect()
}

/// The version of an installed package.
pub(crate) fn version(package: &str) -> Option<String> {
    let text = run::output(Command::new("dpkg-query").args(["--show", "--showformat=${Version}", package])).ok()?;
    (!text.is_empty()).then_some(text)
}

/// The newest version of a package that this machine's sources offer, if none of them offers the installed one any more.
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
    unpack_all(&downloads, folder, &[])?;
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
    link_into_usr(root)?;
    unpack_all(&downloads.join("archives"), root, &[])?;
    remove(&downloads)
}

/// Another suite of Debian than this system's, from the same mirror. This system's own sources stay as they are.
pub(crate) struct Suite {
    name: String,
    settings: Vec<String>,
    /// The folder of lists and downloads, removed with the value.
    folder: PathBuf,
}

impl Suite {
    /// Reads the lists of a suite for some architectures (Debian's names) into `folder`.
    pub(crate) fn open(name: &str, architectures: &[&str], folder: &Path) -> Result<Suite> {
        let folder = fresh(folder)?;
        let (sources, lists) = (folder.join("sources.list"), folder.join("lists"));
        fs::create_dir_all(lists.join("partial"))?;
        let mirrors =
            run::output(Command::new("apt-get").args(["indextargets", "--format=$(REPO_URI)", "Origin: Debian"]))?;
        let mirror = mirrors.lines().find(|mirror| !mirror.contains("security"));
        let mirror = mirror.context("no source of apt is Debian's; `apt-get update` reads them")?;
        let architectures = architectures.join(",");
        fs::write(&sources, format!("deb [arch={architectures} signed-by={KEYS}] {mirror} {name} main\n"))?;
        let settings = vec![
            format!("Dir::Etc::SourceList={}", sources.display()),
            "Dir::Etc::SourceParts=/dev/null".into(),
            format!("Dir::State::Lists={}", lists.display()),
            format!("Dir::Cache={}", folder.display()),
            "Acquire::Languages=none".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
            "APT::Sandbox::User=root".into(),
        ];
        let suite = Suite { name: name.to_owned(), settings, folder };
        run::run(suite.apt("apt-get").args(["-q", "update"]))?;
        Ok(suite)
    }

    /// The first package that another one depends on and whose name begins with `prefix`: the rest of the name, without its architecture.
    pub(crate) fn dependency(&self, package: &str, prefix: &str) -> Result<String> {
        let told = run::output(self.apt("apt-cache").args(["depends", package]))?;
        let mut depends = told.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")?.strip_prefix(prefix));
        let rest = depends.find_map(|rest| rest.split(':').next()).map(str::to_owned);
        rest.with_context(|| format!("{package} of {} depends on no {prefix}*", self.name))
    }

    /// Unpacks packages (`NAME`, `NAME:ARCHITECTURE`) into `folder`, without those that they depend on: of each the files that match a
    /// pattern of tar, or all where there is none.
    pub(crate) fn unpack(&self, packages: &[String], patterns: &[&str], folder: &Path) -> Result<()> {
        let downloads = fresh(&self.folder.join("downloads"))?;
        let packages: Vec<String> = packages.iter().map(|package| format!("{package}/{}", self.name)).collect();
        run::run(self.apt("apt-get").args(["-q", "download"]).args(packages).current_dir(&downloads))?;
        unpack_all(&downloads, folder, patterns)?;
        remove(&downloads)
    }

    /// Unpacks packages into `root` as they lie in a system, without those that they depend on.
    pub(crate) fn unpack_as_system(&self, packages: &[String], root: &Path) -> Result<()> {
        link_into_usr(root)?;
        self.unpack(packages, &[], root)
    }

    /// The names of the packages that begin with `prefix`.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let told = run::output(self.apt("apt-cache").args(["pkgnames", prefix]))?;
        Ok(told.lines().map(str::to_owned).collect())
    }

    /// Unpacks a package and all that it depends on into `root`, whatever this system has of it. No package's scripts are run.
    pub(crate) fn unpack_with_dependencies(&self, package: &str, root: &Path) -> Result<()> {
        let downloads = fresh(&self.folder.join("archives"))?;
        fs::create_dir_all(downloads.join("partial"))?;
        let mut install = self.apt("apt-get");
        install.args(["-o", "Dir::State::status=/dev/null", "-o", "Debug::NoLocking=1", "-q", "-y"]);
        run::run(install.args(["--download-only", "--no-install-recommends", "install", package]))?;
        link_into_usr(root)?;
        unpack_all(&downloads, root, &[])?;
        remove(&downloads)
    }

    fn apt(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.settings.iter().flat_map(|setting| ["-o", setting]));
        command
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        // If this fails, the folder stays in the cache.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes the script `name` into `root`, where packages of x86-64 are unpacked: it runs their `program` with `arguments` of the shell's by the
/// loader and the libraries beside it, whatever this system has. Libraries that are not there come from the folders of `LD_LIBRARY_PATH`, or are
/// the system's.
pub(crate) fn wrap(root: &Path, name: &str, program: &str, arguments: &str) -> Result<()> {
    let text = format!(
        "#!/bin/sh\nroot=$(dirname \"$0\")\nexec \"$root/lib64/ld-linux-x86-64.so.2\" \
         --library-path \"$root/usr/lib/x86_64-linux-gnu${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\" \"$root/{program}\" {arguments} \"$@\"\n"
    );
    let path = root.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755)).context("cannot make it a program")
}

/// `apt-get` with a cache of its own.
fn apt_get(downloads: &Path) -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-q", "-o", "APT::Sandbox::User=root"]);
    command.arg("-o").arg(format!("Dir::Cache={}", downloads.display()));
    command
}

/// Makes links that Debian has and no package contains.
fn link_into_usr(root: &Path) -> Result<()> {
    for name in ["bin", "lib", "lib64", "sbin"] {
        fs::create_dir_all(root.join("usr").join(name))?;
        if !root.join(name).exists() {
            symlink(Path::new("usr").join(name), root.join(name))?;
        }
    }
    Ok(())
}

fn unpack_all(downloads: &Path, folder: &Path, patterns: &[&str]) -> Result<()> {
    let entries = fs::read_dir(downloads).with_context(|| format!("cannot read {}", downloads.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension() == Some(OsStr::new("deb")));
    files.sort();
    if files.is_empty() {
        bail!("apt-get downloaded nothing");
    }
    for file in files {
        unpack(&file, folder, patterns)?;
    }
    Ok(())
}

/// What `dpkg --extract` does, but for links to folders, which stay links, and for files that match none of the patterns.
fn unpack(package: &Path, folder: &Path, patterns: &[&str]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut contents = Command::new("dpkg-deb");
    let mut contents = contents.arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).spawn()?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--keep-directory-symlink", "--directory"]).arg(folder);
    tar.arg("--wildcards").args(patterns);
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
