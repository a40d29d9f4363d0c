//! Finds the running processes of a group: those of a name, of an executable file, or of a container.

use std::fs;
use std::path::PathBuf;

use nix::unistd::{getpid, getppid};
use ubp::rules::Glob;

use super::status::{self, Status};
use crate::failure::{Failure, NOT_FOUND, Result};
use crate::output::tell;

/// What `/proc/PID/exe` ends with where the file was replaced or removed while the program runs.
const REMOVED: &str = " (deleted)";

/// A running process.
pub(crate) struct Running {
    pub(crate) pid: i32,
    /// The name of its file, or of its first thread where the file cannot be seen.
    pub(crate) name: String,
    /// The path of its executable file, where that can be seen.
    pub(crate) executable: Option<String>,
}

/// The processes of this user, for root those of all users, ascending.
pub(crate) fn running() -> Vec<Running> {
    let user = Status::read(getpid().as_raw()).map(|own| own.user);
    let all = processes(|_, status| user == Some(0) || user == Some(status.user)).unwrap_or_default();
    let process = |pid| {
        let executable = program(pid);
        let name = match &executable {
            Some(path) => last(path).to_string(),
            None => Status::read(pid)?.name,
        };
        Some(Running { pid, name, executable })
    };
    all.into_iter().filter_map(process).collect()
}

/// The processes whose program or first thread has a name, ascending. ntrace itself is not among them.
///
/// # Errors
/// There is no such process.
pub(crate) fn processes_named(name: &str) -> Result<Vec<i32>> {
    // The kernel keeps the first 15 bytes of a thread's name; the file's name is whole.
    let has_name = |pid, status: &Status| status.name == name || program(pid).is_some_and(|path| last(&path) == name);
    found(processes(has_name)?, || format!("no running program is called '{name}'"))
}

/// The processes whose executable file has a path that a pattern matches, ascending.
///
/// # Errors
/// There is no such process.
pub(crate) fn processes_executing(pattern: &str) -> Result<Vec<i32>> {
    let glob = Glob::new(pattern);
    let executes = |pid, _: &Status| program(pid).is_some_and(|path| glob.matches(path));
    found(processes(executes)?, || format!("no running process that can be seen executes '{pattern}'"))
}

/// The processes of the container of a process, ascending: those of its PID namespace, or where that is the namespace of ntrace, those of its
/// control group and of groups below it. The processes that started ntrace are left out: ntrace's output may pass through them.
///
/// # Errors
/// There is no such process, or it is in no container.
pub(crate) fn processes_of_container(of: i32) -> Result<Vec<i32>> {
    status::check_proc()?;
    let unknown =
        || Failure::new(NOT_FOUND, format!("--container {of}: there is no such process, or it cannot be seen"));
    let namespace = namespace(of).ok_or_else(unknown)?;
    let mut all = if Some(&namespace) == self::namespace(getpid().as_raw()).as_ref() {
        let group = groups(of).into_iter().next().ok_or_else(|| {
            let what = "it has the PID namespace of ntrace and no control group of its own";
            Failure::usage(format!("--container {of}: the process is in no container: {what}; use -p {of}"))
        })?;
        let below = format!("{}/", group.trim_end_matches('/'));
        processes(|pid, _| groups(pid).iter().any(|other| *other == group || other.starts_with(&below)))?
    } else {
        processes(|pid, _| self::namespace(pid).as_ref() == Some(&namespace))?
    };
    let own: Vec<i32> = status::ancestors().collect();
    let before = all.len();
    all.retain(|pid| !own.contains(pid));
    let left_out = match before - all.len() {
        0 => String::new(),
        count => format!(", without {count} that started ntrace"),
    };
    let count = if all.len() == 1 { "1 process".into() } else { format!("{} processes", all.len()) };
    tell(format_args!(
        "--container {of}: {count}{left_out}; a process that enters the container later is seen only if one of these makes it"
    ));
    found(all, || format!("--container {of}: no process of the container can be traced"))
}

fn found(all: Vec<i32>, none: impl FnOnce() -> String) -> Result<Vec<i32>> {
    if all.is_empty() { Err(Failure::new(NOT_FOUND, none())) } else { Ok(all) }
}

/// The processes that are wanted, ascending, without ntrace itself, threads of the kernel, and processes that have ended.
fn processes(is_wanted: impl Fn(i32, &Status) -> bool) -> Result<Vec<i32>> {
    status::check_proc()?;
    let own = [getpid().as_raw(), getppid().as_raw()];
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| !own.contains(pid));
    let is_process = |pid: &i32| {
        Status::read(*pid)
            .is_some_and(|status| !status.has_ended() && !status::is_kernel_thread(*pid) && is_wanted(*pid, &status))
    };
    let mut found: Vec<i32> = ids.filter(is_process).collect();
    found.sort_unstable();
    Ok(found)
}

/// The path of the executable file of a process.
fn program(pid: i32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?.into_os_string().into_string().ok()?;
    Some(path.strip_suffix(REMOVED).map_or(path.clone(), str::to_string))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The PID namespace of a process (pid_namespaces(7)).
fn namespace(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

/// The control groups of a process (cgroups(7)): the lines `HIERARCHY:CONTROLLERS:PATH` whose path is not the root's.
fn groups(pid: i32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    text.lines().filter(|line| !line.ends_with(":/")).map(str::to_string).collect()
}
