//! Explains why a process cannot be traced, and what to do.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, getpid, getppid};
use ubp::Error;

use super::status::{self, Status, named};
use crate::failure::{CANNOT_RUN, Failure, NOT_FOUND, Result};
use crate::output::tell;

/// Checks whether a running process can be traced, without any effect on it.
///
/// # Errors
/// The process cannot be traced, and the reason is known.
pub(crate) fn check_process(pid: i32) -> Result<()> {
    status::check_proc()?;
    let refuse = |what: &str| Err(Failure::new(CANNOT_RUN, format!("{} {what}", named(pid))));
    let Some(status) = Status::read(pid) else { return Err(missing(pid)) };
    if status.process != pid {
        let process = named(status.process);
        let what = format!("{pid} is a thread of {process}: give -p {}", status.process);
        return Err(Failure::new(NOT_FOUND, what));
    }
    if pid == getpid().as_raw() || pid == getppid().as_raw() {
        return refuse("is ntrace itself");
    }
    if status.state == b'X' {
        return Err(no_such_process(pid));
    }
    if status.state == b'Z' && status::has_live_thread(pid) {
        return refuse("has lost its first thread, without which ntrace cannot attach to the others");
    }
    if status.state == b'Z' {
        let parent = named(status.parent);
        return refuse(&format!("is a zombie: it has ended, and {parent} has not collected its status yet"));
    }
    if status::is_kernel_thread(pid) {
        return refuse("is a kernel thread: it runs no program");
    }
    if status.tracer != 0 {
        return Err(already_traced(pid, status.tracer));
    }
    if status::ancestors().any(|ancestor| ancestor == pid) {
        tell(format_args!(
            "warning: {} is an ancestor of ntrace: if ntrace's output passes through it, both may wait for each other; \
             -o FILE avoids that",
            named(pid)
        ));
    }
    Ok(())
}

fn own() -> Option<Status> {
    Status::read(getpid().as_raw())
}

fn no_such_process(pid: i32) -> Failure {
    Failure::new(NOT_FOUND, format!("no such process: {pid}"))
}

/// Explains why /proc does not show a process.
fn missing(pid: i32) -> Failure {
    match kill(Pid::from_raw(pid), None) {
        Ok(()) | Err(Errno::EPERM) => Failure::new(
            CANNOT_RUN,
            format!("/proc hides process {pid} from ntrace (its mount option hidepid): run as root"),
        ),
        Err(_) => no_such_process(pid),
    }
}

fn already_traced(pid: i32, tracer: i32) -> Failure {
    let (process, by) =
        (named(pid), if tracer == 0 { "a process that is not visible here".into() } else { named(tracer) });
    let what = format!("{process} is already traced by {by}, and can have only one tracer: end that tracer first");
    Failure::new(CANNOT_RUN, what)
}

/// Explains why a process could not be attached.
pub(crate) fn attach_failure(error: Error) -> Failure {
    match &error {
        Error::NoSuchProcess(pid) => no_such_process(pid.0),
        Error::Permission(pid) => not_permitted(pid.0),
        Error::AlreadyTraced { pid, tracer } => already_traced(pid.0, tracer.0),
        Error::Architecture { .. }
        | Error::Tracer(_)
        | Error::SharedMemory { .. }
        | Error::Confined(_)
        | Error::Uninterruptible(_) => Failure::new(CANNOT_RUN, error.to_string()),
        _ => Failure::own(error.to_string()),
    }
}

/// Explains why a recorder could not attach to a process. `None` for an error of another kind.
pub(crate) fn record_failure(error: &record::RecordError) -> Option<Failure> {
    use record::RecordError;
    match *error {
        RecordError::NoSuchProcess(pid) => Some(no_such_process(pid as i32)),
        RecordError::Permission(pid) => Some(not_permitted(pid as i32)),
        RecordError::AlreadyTraced { pid, tracer } => Some(already_traced(pid as i32, tracer as i32)),
        _ => None,
    }
}

/// States that ntrace may not trace a process, why, and what helps.
fn not_permitted(pid: i32) -> Failure {
    let why = why_not_permitted(&own().unwrap_or_default(), Status::read(pid).as_ref(), &scope());
    Failure::new(CANNOT_RUN, format!("not permitted to trace {}: {why}", named(pid)))
}

/// Explains why the kernel does not let ntrace trace a program that ntrace starts.
pub(super) fn why_not_spawned() -> String {
    let own = own().unwrap_or_default();
    match scope().as_str() {
        _ if own.tracer != 0 => {
            format!("ntrace is traced by {}, which then also traces the programs that ntrace starts", named(own.tracer))
        }
        scope @ ("2" | "3") => why_not_permitted(&own, None, scope),
        _ if own.is_filtered() => FILTERED.into(),
        _ => "the kernel does not permit ntrace to trace it; a security module may forbid that".into(),
    }
}

const FILTERED: &str = "a seccomp filter, such as containers have, may forbid ptrace(2)";
const ADVICE: &str = "run as root, or with CAP_SYS_PTRACE";

/// The value of Yama's setting; empty if the kernel has no Yama.
fn scope() -> String {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default().trim().into()
}

/// Explains why the kernel refuses to trace a process. The order of the checks is the kernel's (ptrace(2), "Ptrace access mode checking").
fn why_not_permitted(own: &Status, other: Option<&Status>, scope: &str) -> String {
    let setting = format!("/proc/sys/kernel/yama/ptrace_scope is {scope}");
    match (scope, other) {
        ("3", _) => format!("{setting}: nobody may trace until the next boot"),
        _ if own.may_trace_all() && own.is_filtered() => FILTERED.into(),
        _ if own.may_trace_all() => {
            "CAP_SYS_PTRACE does not suffice: it belongs to another user namespace, or a security module forbids it"
                .into()
        }
        ("2", _) => format!("{setting}: {ADVICE}"),
        (_, Some(other)) if other.user != own.user => {
            format!("it runs as user {}, ntrace as user {}: {ADVICE}", other.user, own.user)
        }
        ("1", _) => format!("{setting}: only descendants of ntrace may be traced; {ADVICE}"),
        _ => format!(
            "its memory is protected: its file cannot be read, or it changed its user (PR_SET_DUMPABLE); {ADVICE}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_of_a_refusal_names_its_value() {
        let user = |user| Status { user, ..Status::default() };
        let why = |other, scope| why_not_permitted(&user(1000), Some(&user(other)), scope);
        assert!(why(0, "1").contains("user 0, ntrace as user 1000"));
        assert!(why(1000, "1").contains("ptrace_scope is 1"));
        assert!(why(0, "2").contains("ptrace_scope is 2"));
        assert!(why(1000, "3").contains("until the next boot"));
        assert!(why(1000, "").contains("PR_SET_DUMPABLE"));
    }

    #[test]
    fn the_ancestors_of_this_test_end_with_one_that_has_no_parent() {
        let all: Vec<i32> = status::ancestors().collect();
        assert!(all.len() < 1000, "{all:?}");
        assert!(!all.contains(&getpid().as_raw()));
    }
}
