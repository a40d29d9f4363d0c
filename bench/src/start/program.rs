//! Programs whose start is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

const PART: &str = include_str!("part.cpp");
const WANTED: &str = include_str!("wanted.c");
/// The number of parts of the large program, which give it some 200 MB.
const PARTS: usize = 620;

/// A part without global functions, so that a program may have it many times.
const COPY: &str = "copy.o";

/// A program, and the function whose first call is waited for.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) function: &'static str,
    /// The file with the function.
    pub(super) module: PathBuf,
    /// A line of the function, where the program has debug information.
    pub(super) line: Option<&'static str>,
}

/// A small program of the system that calls the C library.
pub(super) fn small() -> Result<Program> {
    let maps = fs::read_to_string("/proc/self/maps").context("/proc/self/maps")?;
    let library = maps.lines().find(|line| line.contains("/libc.so")).context("a C library")?;
    let module = library.split_whitespace().last().context("a path")?.into();
    Ok(Program { path: "/bin/true".into(), function: "malloc", module, line: None })
}

/// A program of some 200 MB with debug information: one part many times.
pub(super) fn large(folder: &Path) -> Result<Program> {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).with_context(|| name.to_owned());
    write("part.cpp", PART)?;
    write("wanted.c", WANTED)?;
    run(Command::new("g++").args(["-g", "-O0", "-c", "part.cpp", "-o", "part.o"]), folder)?;
    run(Command::new("objcopy").args(["--wildcard", "--localize-symbol=_Z*part*", "part.o", COPY]), folder)?;
    let mut link = Command::new("g++");
    link.args(["-g", "-O0", "-o", "large", "-x", "c", "wanted.c", "-x", "none"]);
    link.args([COPY; PARTS]);
    run(&mut link, folder)?;
    let path = folder.join("large");
    Ok(Program { module: path.clone(), path, function: "wanted", line: Some("wanted.c:3") })
}

fn run(command: &mut Command, folder: &Path) -> Result<()> {
    let status = command.current_dir(folder).status();
    let status = status.with_context(|| format!("{} is needed", command.get_program().to_string_lossy()))?;
    ensure!(status.success(), "{}: {status}", command.get_program().to_string_lossy());
    Ok(())
}
