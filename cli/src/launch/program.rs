//! Starts a program: finds its file, checks it, and explains why it could not be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::libc;
use ubp::Error;
use ubp_symbols::files::open;
use ubp_symbols::{ElfError, Image};

use super::attach::why_not_spawned;
use super::status;
use crate::failure::{CANNOT_RUN, Failure, NOT_FOUND, Result};
use crate::heritage::Heritage;
use crate::native;
use crate::output::shown;

/// Prepares the command that starts a program with its arguments as if the shell that started ntrace had started it.
///
/// # Errors
/// The program cannot be traced.
pub(crate) fn command(program: &[OsString], heritage: Heritage) -> Result<Command> {
    let Some((name, arguments)) = program.split_first() else { return Err(Failure::usage("no program is named")) };
    status::check_proc()?;
    if let Some(path) = which(name) {
        check(&path)?;
    }
    let mut command = Command::new(name);
    command.args(arguments);
    heritage.give_to(&mut command);
    Ok(command)
}

/// Returns the file that a program's name means, as execvp(3) finds it.
pub(crate) fn which(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 || name.to_string_lossy().contains('/') {
        return Some(path.to_path_buf());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Refuses a file that cannot be traced before it is started. The kernel judges files that are only unusual.
fn check(path: &Path) -> Result<()> {
    let fail = |what: String| Err(Failure::new(CANNOT_RUN, format!("{}: {what}", shown(path))));
    match Image::open(path) {
        Err(error @ ElfError::Foreign(_)) => fail(error.to_string()),
        Ok(image) if !native::runs(image.arch()) => {
            fail(format!("a file for {}, which does not run here", image.arch().name()))
        }
        Err(ElfError::NotElf) if is_binary(path) => fail("not an ELF file".into()),
        _ => Ok(()),
    }
}

/// Whether a file is neither a script nor text.
fn is_binary(path: &Path) -> bool {
    let start = open(path).ok().and_then(|file| file.read(0, file.size().min(256)));
    start.is_some_and(|start| start.contains(&0) && !start.starts_with(b"#!"))
}

/// Explains why a session could not start a program.
pub(crate) fn spawn_failure(name: &OsStr, error: Error) -> Failure {
    let name_shown = shown(name);
    match error {
        Error::Spawn(source) => start_failure(name, &source),
        Error::Architecture { .. } => Failure::new(CANNOT_RUN, format!("{name_shown}: {error}")),
        Error::AlreadyTraced { .. } | Error::Permission(_) => not_permitted_to_trace(name),
        Error::NoSuchProcess(_) | Error::NoSuchThread(_) => {
            start_failure(name, &io::Error::from_raw_os_error(libc::ESRCH))
        }
        error => Failure::own(format!("{name_shown}: {error}")),
    }
}

/// States that the kernel does not let ntrace trace a program that it starts, and why.
pub(crate) fn not_permitted_to_trace(name: &OsStr) -> Failure {
    Failure::new(CANNOT_RUN, format!("{}: {}", shown(name), why_not_spawned()))
}

/// Explains why the kernel could not start a program.
pub(crate) fn start_failure(name: &OsStr, source: &io::Error) -> Failure {
    let path = which(name);
    let broken = path.as_deref().and_then(|path| match Image::open(path) {
        Err(error @ (ElfError::Corrupt(_) | ElfError::NotElf)) if !path.is_dir() => Some(error.to_string()),
        _ => None,
    });
    let name = shown(name);
    let cannot = |why: String| Failure::new(CANNOT_RUN, format!("{name}: {why}"));
    match source.raw_os_error() {
        Some(libc::ENOENT) if path.as_deref().is_some_and(Path::exists) => {
            cannot("its interpreter or dynamic loader does not exist".into())
        }
        Some(libc::ENOENT) => Failure::new(NOT_FOUND, format!("{name}: no such program")),
        Some(libc::EACCES) if path.as_deref().is_some_and(Path::is_dir) => cannot("a directory".into()),
        Some(libc::EACCES) => cannot(source.to_string()),
        // The kernel kills a process whose new program it cannot map.
        Some(libc::ESRCH) => cannot(broken.unwrap_or_else(|| "the kernel killed it while it was started".into())),
        _ => cannot(broken.unwrap_or_else(|| source.to_string())),
    }
}
