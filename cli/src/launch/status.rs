//! Reads the state of a process from /proc.

use std::fs;
use std::iter;

use nix::unistd::{getpid, getppid};

use crate::failure::{Failure, Result};
use crate::output::{shown, utf8};

/// `PF_KTHREAD` of the flags in proc_pid_stat(5) (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x20_0000;
/// The number of fields between the command's closing parenthesis and the flags, which are field 9 (proc_pid_stat(5)).
const BEFORE_FLAGS: usize = 6;
/// `CAP_SYS_PTRACE` (include/uapi/linux/capability.h).
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// The state of a process or thread (proc_pid_status(5)).
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) name: String,
    /// `Z` for a zombie, `X` for a dead process.
    pub(super) state: u8,
    /// The id of the thread's process.
    pub(super) process: i32,
    pub(super) parent: i32,
    /// The tracer; 0 if there is none, or if it is in a PID namespace that is not visible here.
    pub(super) tracer: i32,
    /// The effective user.
    pub(super) user: u32,
    pub(super) capabilities: u64,
    /// The seccomp mode; 2 is `SECCOMP_MODE_FILTER`.
    pub(super) seccomp: u8,
}

impl Status {
    /// Reads the state. `None` if there is no such process or thread.
    pub(super) fn read(id: i32) -> Option<Status> {
        fs::read(format!("/proc/{id}/status")).ok().map(|text| Status::parse(&text))
    }

    fn parse(text: &[u8]) -> Status {
        let mut status = Status::default();
        for line in text.split(|&byte| byte == b'\n') {
            let Some(at) = line.iter().position(|&byte| byte == b':') else { continue };
            let value = utf8(line[at + 1..].trim_ascii());
            let word = |number| value.split_ascii_whitespace().nth(number).unwrap_or_default();
            match &line[..at] {
                b"Name" => status.name = value.to_string(),
                b"State" => status.state = value.bytes().next().unwrap_or_default(),
                b"Tgid" => status.process = value.parse().unwrap_or_default(),
                b"PPid" => status.parent = value.parse().unwrap_or_default(),
                b"TracerPid" => status.tracer = value.parse().unwrap_or_default(),
                b"Uid" => status.user = word(1).parse().unwrap_or_default(),
                b"CapEff" => status.capabilities = u64::from_str_radix(&value, 16).unwrap_or_default(),
                b"Seccomp" => status.seccomp = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
        status
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
    /// Whether the process may trace every process of its user namespace.
    pub(super) fn may_trace_all(&self) -> bool {
        self.capabilities & CAP_SYS_PTRACE != 0
    }
    /// Whether a seccomp filter restricts the system calls of the process.
    pub(super) fn is_filtered(&self) -> bool {
        self.seccomp == 2
    }
}

/// The ancestors of the front process, the nearest first. The front itself is not among them.
pub(super) fn ancestors() -> impl Iterator<Item = i32> {
    let parent = |pid: &i32| Status::read(*pid).map(|status| status.parent).filter(|parent| *parent != 0);
    iter::successors(parent(&getppid().as_raw()), parent)
}

/// Names a process in a message: `process 1 (init)`.
pub(crate) fn named(pid: i32) -> String {
    match Status::read(pid) {
        Some(status) => format!("process {pid} ({})", status.name),
        None => format!("process {pid}"),
    }
}

/// Whether a process is a kernel thread.
pub(super) fn is_kernel_thread(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/stat")).is_ok_and(|stat| flags(&stat) & KERNEL_THREAD != 0)
}

fn flags(stat: &[u8]) -> u64 {
    // The command may contain any characters, including parentheses and spaces.
    let behind = stat.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 1);
    let fields = utf8(stat.get(behind..).unwrap_or_default());
    fields.split_ascii_whitespace().nth(BEFORE_FLAGS).and_then(|field| field.parse().ok()).unwrap_or_default()
}

/// Whether a process whose first thread has ended has a live thread.
pub(super) fn has_live_thread(pid: i32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tids = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
    tids.filter_map(Status::read).any(|status| !status.has_ended())
}

/// Checks whether /proc is mounted and belongs to the PID namespace of this process.
///
/// # Errors
/// It does not, so that ntrace cannot trace any process.
pub(super) fn check_proc() -> Result<()> {
    let link = fs::read_link("/proc/self").map_err(|error| {
        Failure::own(format!(
            "/proc/self: {error}; ntrace reads the state of processes there: mount -t proc proc /proc"
        ))
    })?;
    if link.as_os_str() == getpid().to_string().as_str() {
        return Ok(());
    }
    Err(Failure::own(format!(
        "/proc belongs to another PID namespace: ntrace is process {} here and {} there; mount -t proc proc /proc",
        getpid(),
        shown(&link)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_whatever_the_name_of_the_process() {
        let text = b"Name:\ta: \xff\nState:\tZ (zombie)\nTgid:\t12\nPid:\t13\nPPid:\t1\nTracerPid:\t7\n\
                     Uid:\t1\t2\t3\t4\nCapEff:\t0000000000080000\nSeccomp:\t2\n";
        let status = Status::parse(text);
        assert_eq!((status.name.as_str(), status.process, status.parent), ("a: \\xff", 12, 1));
        assert_eq!((status.tracer, status.user), (7, 2));
        assert!(status.has_ended() && status.may_trace_all() && status.is_filtered());
    }

    #[test]
    fn kernel_threads_are_told_by_their_flags() {
        assert_eq!(flags(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0") & KERNEL_THREAD, KERNEL_THREAD);
        assert_eq!(flags(b"9 (a) b) (c) S 1 9 9 0 -1 4194560 0 0") & KERNEL_THREAD, 0);
    }
}
