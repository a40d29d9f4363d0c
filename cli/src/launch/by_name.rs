//! Finds running processes by the name of their program.

use std::fs;

use nix::unistd::{getpid, getppid};

use super::status::{self, Status};
use crate::failure::{Failure, NOT_FOUND, Result};

/// The processes whose program or first thread has a name, ascending. ntrace itself is not among them.
///
/// # Errors
/// There is no such process.
pub(crate) fn processes_named(name: &str) -> Result<Vec<i32>> {
    status::check_proc()?;
    let own = [getpid().as_raw(), getppid().as_raw()];
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<i32> = ids.filter(|pid| !own.contains(pid) && has_name(*pid, name)).collect();
    found.sort_unstable();
    if found.is_empty() {
        return Err(Failure::new(NOT_FOUND, format!("no running program is called '{}'", name)));
    }
    Ok(found)
}

/// Whether a process that can be traced has a name. The kernel keeps the first 15 bytes of a thread's name; the file's name is whole.
fn has_name(pid: i32, name: &str) -> bool {
    let Some(status) = Status::read(pid) else { return false };
    if status.has_ended() || status::is_kernel_thread(pid) {
        return false;
    }
    let file = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let file = file.as_deref().and_then(|path| path.file_name()?.to_str());
    // The file may have been replaced or removed while the program runs.
    file.is_some_and(|file| file.trim_end_matches(" (deleted)") == name) || status.name == name
}
