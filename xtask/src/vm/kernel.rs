//! Kernels: Debian's own, of which only the parts for modules are built, and those built from Debian's source with the fragments in
//! tests/vm/kernel. Both are kept in the cache.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::machine::{Kind, Machine};
use super::source::{self, Distributed, MODULES, Source};
use crate::cache::{self, Entry};
use crate::cross::{self, DEBIANS_RUSTC};
use crate::debian::{self, Suite};
use crate::run;

/// The version of the tool that makes Rust from the kernel's C headers. Debian 12's is too old.
const BINDGEN: &str = "0.71.1";
/// The suite of Debian with that version, and the packages of the tool with its libraries. It finds libclang itself.
const SUITE_OF_BINDGEN: &str = "trixie";
const BINDGEN_PACKAGES: [&str; 3] = ["bindgen", "libc6", "libgcc-s1"];
/// The compiler of debug kernels, for any architecture.
const CLANG: &str = "clang";
/// PATH for a kernel's build: Debian's tools come first, whatever the user's PATH has.
const TOOLS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The version of pahole that Kconfig is told. None runs: it makes type information, which a module does not need.
const PAHOLE: &str = "#!/bin/sh\necho v1.30\n";

/// A kernel's source and its build.
pub(crate) struct Kernel {
    machine: Machine,
    source: Source,
    tree: Entry,
    build: Entry,
    origin: Origin,
}

/// Where the kernel that is booted comes from.
enum Origin {
    /// This program builds it with this configuration.
    Built(String),
    /// Debian built it. This program builds only the parts of its source that modules need.
    Distributed(Distributed),
}

impl Kernel {
    /// The kernel that this checkout asks for, built or not.
    pub(crate) fn of(machine: Machine) -> Result<Kernel> {
        let source = Source::of(machine)?;
        let name = machine.arch.facts().name;
        let gcc = machine.arch.facts().gcc;
        let (origin, compiler, flavour) = match machine.kernel {
            Kind::Debian => (Origin::Distributed(Distributed::of(machine.arch)?), gcc, "debian-"),
            Kind::Oldest => (Origin::Built([fragment("common")?, fragment(name)?].concat()), gcc, ""),
            Kind::Debug => {
                (Origin::Built([fragment("common")?, fragment(name)?, fragment("debug")?].concat()), CLANG, "debug-")
            }
        };
        let rustc = run::output(Command::new(DEBIANS_RUSTC).arg("-V"))?;
        cross::is_new_enough(rustc.split_whitespace().nth(1).unwrap_or_default())?;
        let tools = [rustc, run::output(Command::new(compiler).arg("--version").env("PATH", tools()))?];
        let Source { name: source_name, size, .. } = &source;
        let configuration = match &origin {
            Origin::Built(configuration) => configuration,
            Origin::Distributed(distributed) => &distributed.release,
        };
        let key = cache::key(&[source_name, &size.to_string(), configuration, &tools.concat(), BINDGEN]);
        Ok(Kernel {
            machine,
            tree: Entry::of(format!("kernel/{source_name}-{size}")),
            build: Entry::of(format!("kernel/{name}-{flavour}{key}")),
            origin,
            source,
        })
    }

    /// Its name in the cache, which no other kernel has.
    pub(crate) fn name(&self) -> String {
        self.build.folder().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether it was built.
    pub(crate) fn is_built(&self) -> bool {
        self.build.is_complete()
    }

    /// The bootable image.
    pub(crate) fn image(&self) -> PathBuf {
        match &self.origin {
            Origin::Built(_) => self.build.folder().join(self.machine.arch.facts().image_file),
            Origin::Distributed(distributed) => distributed.image(),
        }
    }

    /// The program of the kernel's build that packs a first file system.
    pub(crate) fn packer(&self) -> PathBuf {
        self.build.folder().join("usr/gen_init_cpio")
    }

    /// Modules that the first process loads before all else, in this order.
    pub(crate) fn modules(&self) -> Vec<PathBuf> {
        match &self.origin {
            Origin::Built(_) => Vec::new(),
            Origin::Distributed(_) => MODULES.map(|name| self.loadable(name)).into(),
        }
    }

    /// The path of one of [`MODULES`], uncompressed.
    fn loadable(&self, name: &str) -> PathBuf {
        self.build.folder().join("loadable").join(name.replace('/', "-") + ".ko")
    }

    /// Builds the kernel, or the parts that modules need, unless the cache has them.
    pub(crate) fn build(&self) -> Result<()> {
        if self.build.is_complete() {
            return Ok(());
        }
        prepare()?;
        self.tree.make(|folder| self.source.unpack(folder))?;
        let start = Instant::now();
        self.build.make(|folder| match &self.origin {
            Origin::Built(configuration) => {
                let fragment = folder.join("fragment.config");
                fs::write(&fragment, configuration)?;
                run::run(self.make()?.arg("--silent").arg(set("KCONFIG_ALLCONFIG", &fragment)).arg("allnoconfig"))?;
                self.check_configuration(configuration)?;
                run::run(self.make()?.args(["--silent", self.machine.arch.facts().image, "modules"]))
            }
            Origin::Distributed(distributed) => self.prepare_distributed(distributed, folder),
        })?;
        eprintln!("vm: built in {:.0} s: {}", start.elapsed().as_secs_f64(), self.build.folder().display());
        Ok(())
    }

    /// Builds what modules need of Debian's kernel, with this machine's compilers: its headers and its Rust crates.
    fn prepare_distributed(&self, distributed: &Distributed, folder: &Path) -> Result<()> {
        for file in [".config", "Module.symvers"] {
            let from = distributed.headers().join(file);
            fs::copy(&from, folder.join(file)).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        let pahole = self.pahole();
        fs::write(&pahole, PAHOLE).with_context(|| format!("cannot write {}", pahole.display()))?;
        fs::set_permissions(&pahole, fs::Permissions::from_mode(0o755))?;
        run::run(self.make()?.args(["--silent", "olddefconfig"]))?;
        self.check_configuration("CONFIG_RUST=y\nCONFIG_DEBUG_INFO_BTF_MODULES=y\n")?;
        run::run(self.make()?.args(["--silent", "prepare", "modules_prepare"]))?;
        // Only a build of the whole kernel makes the packer.
        let packer = self.packer();
        fs::create_dir_all(packer.parent().unwrap_or(folder))?;
        let source = self.tree.folder().join("usr/gen_init_cpio.c");
        run::run(Command::new("gcc").args(["-O2", "-o"]).arg(packer).arg(source))?;
        fs::create_dir_all(folder.join("loadable"))?;
        for name in MODULES {
            let module =
                run::bytes(Command::new("xz").args(["--decompress", "--stdout"]).arg(distributed.module(name)))?;
            fs::write(self.loadable(name), module)?;
        }
        Ok(())
    }

    fn pahole(&self) -> PathBuf {
        self.build.folder().join("pahole")
    }

    /// The kernel's own check of how C is written.
    pub(crate) fn checkpatch(&self) -> Command {
        let mut command = Command::new(self.tree.folder().join("scripts/checkpatch.pl"));
        command.args(["--no-tree", "--quiet", "--terse", "--show-types", "--file"]);
        command
    }

    /// `make` in the kernel's source, with the variables for output folder, architecture and tools.
    pub(crate) fn make(&self) -> Result<Command> {
        let facts = self.machine.arch.facts();
        let mut command = Command::new("make");
        command.env("PATH", tools()).arg("-C").arg(self.tree.folder()).arg(set("O", self.build.folder()));
        command.arg(format!("ARCH={}", facts.name));
        command.arg(match self.machine.kernel {
            Kind::Debug => "LLVM=1".into(),
            Kind::Debian | Kind::Oldest => format!("CROSS_COMPILE={}", facts.cross_compile),
        });
        command.arg(set("BINDGEN", &bindgen().folder().join("bindgen")));
        command.arg(set("RUST_LIB_SRC", &library()?));
        if let Origin::Distributed(Distributed { release, .. }) = &self.origin {
            let folder = source::libclang_folder();
            command.env("LIBCLANG_PATH", &folder).env("LD_LIBRARY_PATH", &folder);
            command.arg(set("PAHOLE", &self.pahole())).arg(format!("KERNELRELEASE={release}"));
        }
        // The variables of the caller's cargo are not for this compiler.
        for variable in ["RUSTC", "RUSTDOC", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "MAKEFLAGS", "MFLAGS"] {
            command.env_remove(variable);
        }
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        command.arg(format!("-j{jobs}"));
        Ok(command)
    }

    /// Kconfig silently drops options whose dependencies are missing: Rust, for example, if a tool is missing or too old.
    fn check_configuration(&self, wanted: &str) -> Result<()> {
        let path = self.build.folder().join(".config");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let missing = missing(wanted, &text);
        if missing.contains(&"CONFIG_RUST=y") {
            let reason = run::output(self.make()?.args(["--silent", "rustavailable"]));
            let reason = reason.map_or_else(|error| error.to_string(), |_| "the configuration forbids it".into());
            bail!("the kernel cannot have modules in Rust: {reason}");
        }
        if !missing.is_empty() {
            bail!("the kernel's configuration does not take: {}", missing.join(" "));
        }
        Ok(())
    }
}

/// Why no such kernel can be built here.
pub(crate) fn obstacle(machine: Machine) -> Option<String> {
    Kernel::of(machine).err().map(|error| format!("{error:#}; `cargo xtask setup` brings what is missing"))
}

/// Brings the tools that this system's release may not have.
pub(crate) fn prepare() -> Result<()> {
    bindgen().make(|folder| {
        let suite = Suite::open(SUITE_OF_BINDGEN, &["amd64"], &folder.with_extension("apt"))?;
        suite.unpack_as_system(&BINDGEN_PACKAGES.map(str::to_owned), folder)?;
        debian::wrap(folder, "bindgen", "usr/bin/bindgen", "")?;
        let told = run::output(Command::new(folder.join("bindgen")).arg("--version"))?;
        if told.trim() != format!("bindgen {BINDGEN}") {
            bail!("the bindgen of Debian's {SUITE_OF_BINDGEN} is not {BINDGEN}: {told}");
        }
        Ok(())
    })
}

fn bindgen() -> Entry {
    Entry::of(format!("tools/{SUITE_OF_BINDGEN}-bindgen-{BINDGEN}"))
}

fn tools() -> String {
    format!("{TOOLS}:{}", cross::gcc_folder().display())
}

/// The sources of the standard library that belong to Debian's compiler.
fn library() -> Result<PathBuf> {
    let about = run::output(Command::new(DEBIANS_RUSTC).arg("-V"))?;
    let version = about.split_whitespace().nth(1).context("rustc names no version")?;
    Ok(format!("/usr/src/rustc-{version}/library").into())
}

fn fragment(name: &str) -> Result<String> {
    let path = run::root().join("tests/vm/kernel").join(name).with_extension("config");
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn set(name: &str, value: &Path) -> String {
    format!("{name}={}", value.display())
}

/// The settings of `wanted` that `configuration` does not have.
fn missing<'a>(wanted: &'a str, configuration: &str) -> Vec<&'a str> {
    let has = |setting: &&str| configuration.lines().any(|line| line == *setting);
    wanted.lines().filter(|line| line.starts_with("CONFIG_")).filter(|setting| !has(setting)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_was_not_taken_is_missing() {
        let wanted = "# why\nCONFIG_RUST=y\nCONFIG_NR_CPUS=8\n";
        assert_eq!(missing(wanted, "CONFIG_RUST=y\nCONFIG_NR_CPUS=8\n"), [""; 0]);
        assert_eq!(
            missing(wanted, "# CONFIG_RUST is not set\nCONFIG_NR_CPUS=80\n"),
            ["CONFIG_RUST=y", "CONFIG_NR_CPUS=8"]
        );
    }
}
