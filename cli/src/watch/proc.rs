//! What /proc tells of a process that is to be traced, and of ntrace itself.

use std::fs;

use nix::unistd::getpid;

use crate::failure::{Failure, Result};
use crate::output::{shown, utf8};

/// `PF_KTHREAD` of the flags in proc_pid_stat(5) (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x20_0000;
/// Fields that stand between the command's closing parenthesis and the flags, the 9th (proc_pid_stat(5)).
const BEFORE_FLAGS: usize = 6;
/// `CAP_SYS_PTRACE` (include/uapi/linux/capability.h).
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// A process or thread (proc_pid_status(5)).
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) name: String,
    /// `Z` for a zombie, `X` for one that is gone.
    pub(super) state: u8,
    /// The process that a thread is of.
    pub(super) process: i32,
    pub(super) parent: i32,
    /// 0 where there is none, or one that cannot be seen from here.
    pub(super) tracer: i32,
    /// Its effective user.
    pub(super) user: u32,
    pub(super) capabilities: u64,
    /// `SECCOMP_MODE_FILTER` is 2.
    pub(super) seccomp: u8,
}

impl Status {
    /// `None` where there is no such process or thread.
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
    /// Whether it may trace every process of its user namespace.
    pub(super) fn may_trace_all(&self) -> bool {
        self.capabilities & CAP_SYS_PTRACE != 0
    }
    /// Whether a filter decides which system calls it may make.
    pub(super) fn is_filtered(&self) -> bool {
        self.seccomp == 2
    }
}

/// A process with its name, for messages: `process 1 (init)`.
pub(super) fn named(pid: i32) -> String {
    match Status::read(pid) {
        Some(status) => format!("process {pid} ({})", status.name),
        None => format!("process {pid}"),
    }
}

/// Whether it is a thread of the kernel.
pub(super) fn is_kernel_thread(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/stat")).is_ok_and(|stat| flags(&stat) & KERNEL_THREAD != 0)
}

fn flags(stat: &[u8]) -> u64 {
    // The command may hold anything, parentheses and spaces too.
    let behind = stat.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 1);
    let fields = utf8(stat.get(behind..).unwrap_or_default());
    fields.split_ascii_whitespace().nth(BEFORE_FLAGS).and_then(|field| field.parse().ok()).unwrap_or_default()
}

/// Whether a thread of a process lives whose first thread has ended.
pub(super) fn has_live_thread(pid: i32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tids = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
    tids.filter_map(Status::read).any(|status| !status.has_ended())
}

/// Finds out whether /proc is there and tells of the processes that this one sees.
///
/// # Errors
/// It does not: nothing can be traced.
pub(crate) fn check() -> Result<()> {
    let link = fs::read_link("/proc/self").map_err(|error| {
        Failure::own(format!("/proc/self: {error}; ntrace reads of processes there: mount -t proc proc /proc"))
    })?;
    if link.as_os_str() == getpid().to_string().as_str() {
        return Ok(());
    }
    Err(Failure::own(format!(
        "/proc is of another PID namespace: ntrace is process {} here, and {} there; mount -t proc proc /proc",
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
