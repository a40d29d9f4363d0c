//! What kernels are built from: Debian packages that are unpacked in the cache and not installed. Each comes from one suite, whatever
//! release this system has. The oldest kernel that the module supports needs its source only. The newest kernel for Debian's stable release
//! comes with its configuration, its image and some of its modules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::machine::{Arch, Kind, Machine};
use crate::cache::{self, Entry};
use crate::debian::{self, Suite};
use crate::run;

/// The package of the oldest kernel's source. Debian gives new versions of it the same name.
const OLDEST: &str = "linux-source-6.12";
/// The suite with the oldest kernel.
const SUITE_OF_OLDEST: &str = "trixie";
/// The suite with newer kernels.
const SUITE: &str = "trixie-backports";
/// The version of libclang for bindings to new kernels: Debian 12's is too old.
const LIBCLANG: [&str; 2] = ["libclang1-19", "libllvm19"];
/// The modules by which Debian's kernel mounts folders of the host, in the order of loading.
pub(super) const MODULES: [&str; 4] = ["fs/netfs/netfs", "net/9p/9pnet", "fs/9p/9p", "net/9p/9pnet_virtio"];

/// The source of a kernel.
pub(crate) struct Source {
    /// The package's name.
    pub(crate) name: String,
    /// The archive's size, which tells versions of the package apart.
    pub(crate) size: u64,
    archive: PathBuf,
}

impl Source {
    /// The source of a machine's kernel.
    pub(crate) fn of(machine: Machine) -> Result<Source> {
        let brought = match machine.kernel {
            Kind::Debian => distributed(),
            Kind::Oldest | Kind::Debug => oldest(),
        };
        let archive = only_file(&brought.folder().join("usr/src"), "xz")?;
        let size = fs::metadata(&archive).with_context(|| format!("no {}", archive.display()))?.len();
        let file = archive.file_name().unwrap_or_default().to_string_lossy();
        Ok(Source { name: file.trim_end_matches(".tar.xz").to_owned(), size, archive })
    }

    /// Unpacks it.
    pub(crate) fn unpack(&self, folder: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.arg("--extract")
            .arg("--file")
            .arg(&self.archive)
            .arg("--directory")
            .arg(folder)
            .arg("--strip-components=1");
        // A third of the source describes the registers of one vendor's graphics.
        run::run(tar.arg("--exclude=*/drivers/gpu/drm/amd/include/asic_reg"))
    }
}

/// A kernel as Debian distributes it.
pub(crate) struct Distributed {
    /// Its release, as `uname -r` prints it.
    pub(crate) release: String,
    folder: PathBuf,
}

impl Distributed {
    /// The kernel of an architecture, which [`bring`] has unpacked.
    pub(crate) fn of(arch: Arch) -> Result<Distributed> {
        let folder = distributed().folder().join(arch.facts().debian);
        let modules = folder.join("usr/lib/modules");
        let entries = fs::read_dir(&modules).with_context(|| format!("no {}", modules.display()))?;
        let release = entries.flatten().next().with_context(|| format!("nothing in {}", modules.display()))?;
        Ok(Distributed { release: release.file_name().to_string_lossy().into_owned(), folder })
    }

    /// The bootable image.
    pub(crate) fn image(&self) -> PathBuf {
        self.modules().join("vmlinuz")
    }

    /// Its configuration, and the symbols that it exports.
    pub(crate) fn headers(&self) -> PathBuf {
        self.folder.join("usr/src").join(format!("linux-headers-{}", self.release))
    }

    /// One of [`MODULES`], compressed.
    pub(crate) fn module(&self, name: &str) -> PathBuf {
        self.modules().join("kernel").join(format!("{name}.ko.xz"))
    }

    fn modules(&self) -> PathBuf {
        self.folder.join("usr/lib/modules").join(&self.release)
    }
}

/// Unpacks the source of the oldest kernel unless the cache has it.
pub(crate) fn bring_oldest() -> Result<()> {
    oldest().make(|folder| {
        let suite = Suite::open(SUITE_OF_OLDEST, &["amd64"], &folder.with_extension("apt"))?;
        suite.unpack(&[OLDEST.to_owned()], &[], folder)
    })
}

/// Unpacks Debian's newest kernel for both architectures, and the libclang that makes bindings from its headers, unless the cache has them.
pub(crate) fn bring() -> Result<()> {
    libclang().make(|folder| debian::unpack_alone(&LIBCLANG, folder))?;
    distributed().make(|folder| {
        let architectures = [Arch::X86_64, Arch::Arm64];
        let names = architectures.map(|arch| arch.facts().debian);
        let suite = Suite::open(SUITE, &names, &folder.with_extension("apt"))?;
        let mut version = String::new();
        for debian in names {
            let release = suite.dependency(&format!("linux-image-{debian}:{debian}"), "linux-image-")?;
            let package = |part: &str| format!("linux-{part}-{release}:{debian}");
            let to = folder.join(debian);
            suite.unpack(&[package("headers"), package("binary")], &[], &to)?;
            let patterns = MODULES.map(|name| format!("*/kernel/{name}.ko.xz"));
            suite.unpack(&[package("modules")], &patterns.each_ref().map(String::as_str), &to)?;
            version = release.split('.').take(2).collect::<Vec<_>>().join(".");
        }
        suite.unpack(&[format!("linux-source-{version}")], &[], folder)
    })
}

/// The folder of the libclang that makes bindings to Debian's newest kernel.
pub(crate) fn libclang_folder() -> PathBuf {
    libclang().folder().join("usr/lib/x86_64-linux-gnu")
}

/// The only file of that extension in a folder.
fn only_file(folder: &Path, extension: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut files = entries.flatten().map(|entry| entry.path());
    match files.find(|path| path.extension().is_some_and(|end| end == extension)) {
        Some(file) => Ok(file),
        None => bail!("no file of {extension} in {}", folder.display()),
    }
}

fn distributed() -> Entry {
    Entry::of(format!("kernel/debian-{}", cache::key(&[&[SUITE], &MODULES[..]].concat())))
}

/// The tests look for the kernel's selftests in this folder, by the same name (tests/src/selftests/source.rs).
fn oldest() -> Entry {
    Entry::of("kernel/source-of-oldest")
}

fn libclang() -> Entry {
    Entry::of("tools/libclang-19")
}
