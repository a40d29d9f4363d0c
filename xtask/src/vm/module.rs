//! The kernel module, built for a machine's kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::kernel::Kernel;
use super::machine::{Kind, Machine};
use super::shim;
use crate::program::matches;
use crate::{cache, run, tutorial};

/// The most bytes of code and constants.
const MOST_BYTES: u64 = 256 << 10;
/// Parts of the names of functions that Rust calls to panic.
const PANICS: [&str; 6] =
    ["panic", "slice_index_fail", "unwrap_failed", "expect_failed", "bounds_check", "len_mismatch"];

/// The list of the kernel's symbols that the module may use.
const EXPORTS: &str = "kmod/exports.txt";
/// The file below target/ with a line for each file of C that checkpatch.pl has accepted. It takes seconds for all of them.
const ACCEPTED: &str = "target/kmod/accepted";

/// Builds ntrace.ko under target/, checks its promises, and returns its path.
pub(crate) fn build(machine: Machine) -> Result<PathBuf> {
    shim::check()?;
    let kernel = Kernel::of(machine)?;
    let module = build_from(&run::root(), "kmod", &kernel, machine)?;
    if machine.kernel != Kind::Debug {
        check_style(&kernel)?;
    }
    Ok(module)
}

/// Builds the module that the tutorial docs/extending.md makes, and returns its path.
pub(crate) fn build_tutorial(machine: Machine) -> Result<PathBuf> {
    let sources = tutorial::folder();
    tutorial::copy(&sources)?;
    build_from(&sources, "kmod-tutorial", &Kernel::of(machine)?, machine)
}

/// Builds ntrace.ko from `sources`, which is a checkout or a copy of it, in a folder of target/NAME.
fn build_from(sources: &Path, name: &str, kernel: &Kernel, machine: Machine) -> Result<PathBuf> {
    kernel.build()?;
    // The kernel's build writes beside the module's Kbuild, so that file is copied. A module fits one kernel only.
    let folder = run::root().join("target").join(name).join(kernel.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    copy(&sources.join("kmod/Kbuild"), &folder.join("Kbuild"))?;
    run::run(kernel.make()?.arg("--silent").arg(set("M", &folder)).arg(set("NTRACE", sources)).arg("modules"))?;
    let module = folder.join("ntrace.ko");
    // KASAN's instrumentation makes code larger and keeps needless checks.
    if machine.kernel != Kind::Debug {
        check(&module)?;
    }
    Ok(module)
}

/// Builds the module of `tests/vm/floor`, and returns its path.
pub(crate) fn floor(machine: Machine) -> Result<PathBuf> {
    let kernel = Kernel::of(machine)?;
    let folder = run::root().join("target/floor").join(kernel.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for file in ["Kbuild", "floor.c"] {
        copy(&run::root().join("tests/vm/floor").join(file), &folder.join(file))?;
    }
    run::run(kernel.make()?.arg("--silent").arg(set("M", &folder)).arg("modules"))?;
    Ok(folder.join("floor.ko"))
}

/// Fails if the kernel's checkpatch.pl objects to the module's C. Files that it has accepted are not shown to it again.
fn check_style(kernel: &Kernel) -> Result<()> {
    let root = run::root();
    let files = run::output(Command::new("git").args(["ls-files", "kmod/*.[ch]", "tests/vm/*.c"]).current_dir(&root))?;
    let mut command = kernel.checkpatch();
    let judge = fs::read_to_string(command.get_program()).context("cannot read checkpatch.pl")?;
    let mut keys = Vec::new();
    for file in files.lines() {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        keys.push((file, cache::key(&[&judge, file, &text])));
    }
    let accepted = fs::read_to_string(root.join(ACCEPTED)).unwrap_or_default();
    let new: Vec<&str> = keys.iter().filter(|(_, key)| !has_line(&accepted, key)).map(|(file, _)| *file).collect();
    if new.is_empty() {
        return Ok(());
    }
    let output = command.args(new).current_dir(&root).output().context("cannot start checkpatch.pl")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        let found: Vec<&str> = text.lines().filter(|line| line.contains(": ") && !line.starts_with("total")).collect();
        bail!("scripts/checkpatch.pl of the kernel's source:\n{}", found.join("\n"));
    }
    // Lines of the other kernels' checkpatch.pl go; that one looks again.
    let lines: String = keys.iter().map(|(_, key)| format!("{key}\n")).collect();
    fs::write(root.join(ACCEPTED), lines).with_context(|| format!("cannot write {ACCEPTED}"))
}

fn has_line(text: &str, line: &str) -> bool {
    text.lines().any(|one| one == line)
}

/// Fails if a panic can be reached, if the module uses unlisted symbols of the kernel, or if it is too large.
fn check(module: &Path) -> Result<()> {
    let symbols = run::output(Command::new("nm").arg(module))?;
    let listed = run::root().join(EXPORTS);
    let listed = fs::read_to_string(&listed).with_context(|| format!("cannot read {}", listed.display()))?;
    let unlisted: Vec<&str> = needed(&symbols).filter(|symbol| !is_listed(symbol, &listed)).collect();
    if !unlisted.is_empty() {
        bail!("{} needs what {EXPORTS} does not list: {}", module.display(), unlisted.join(" "));
    }
    if let Some(symbol) = symbols.lines().find(|line| PANICS.iter().any(|panic| line.contains(panic))) {
        bail!("{} can panic: {}", module.display(), symbol.trim());
    }
    let bytes = constant_bytes(&run::output(Command::new("size").arg("-A").arg(module))?);
    if bytes > MOST_BYTES {
        bail!("{} has {bytes} bytes of code and constants, more than {MOST_BYTES}", module.display());
    }
    eprintln!("vm: {} has {bytes} bytes of code and constants", module.display());
    Ok(())
}

/// The undefined symbols in a listing of `nm`.
fn needed(symbols: &str) -> impl Iterator<Item = &str> {
    symbols.lines().filter_map(|line| line.trim().strip_prefix("U "))
}

/// Whether a line of the list names a symbol; `*` stands for anything.
fn is_listed(symbol: &str, list: &str) -> bool {
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "#").any(|name| matches(symbol, name))
}

/// Bytes of code and constants in a listing of `size -A`.
fn constant_bytes(listing: &str) -> u64 {
    let lines = listing.lines().filter(|line| [".text", ".rodata"].iter().any(|name| line.starts_with(name)));
    lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

/// Writes a file only if its contents change. Its time stays otherwise, and nothing that depends on it is built again.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let text = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if fs::read(to).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}

fn set(name: &str, value: &Path) -> String {
    format!("{name}={}", value.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_listed_by_its_name_or_by_a_part_of_it() {
        let symbols = "0000 T mine\n         U fput\n         U _RNvCs1kernel3x\n         U other\n";
        let list = "# files\nfput (arm64)\n_RNv*kernel*\noth\n";
        let unlisted: Vec<&str> = needed(symbols).filter(|symbol| !is_listed(symbol, list)).collect();
        assert_eq!(unlisted, ["other"]);
    }

    #[test]
    fn code_and_constants_are_added_and_nothing_else() {
        let listing = "section size addr\n.text 100 0\n.rodata 20 0\n.rodata.str1.1 3 0\n.data 7 0\n.debug_info 9 0\n";
        assert_eq!(constant_bytes(listing), 123);
    }
}
