//! Threads and processes as /proc shows them.

use super::sys::SYNCHRONOUS_SIGNALS;
use crate::process::read_proc;
use crate::{Pid, Result, Signal, Tid};

/// The effect of a signal on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disposition {
    Caught,
    Ignored,
    Stops,
    Fatal,
}

/// Signal sets and identity of a thread (proc_pid_status(5)).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Status {
    pub(super) process: i32,
    pub(super) parent: i32,
    pub(super) tracer: i32,
    /// The number of threads of the process.
    pub(super) threads: usize,
    pub(super) state: u8,
    /// seccomp(2) restricts the thread, in strict mode or by a filter.
    pub(super) confined: bool,
    /// Signals pending for the thread alone.
    own_pending: u64,
    pending: u64,
    blocked: u64,
    ignored: u64,
    caught: u64,
}

impl Status {
    pub(super) fn read(tid: Tid) -> Result<Status> {
        let text = read_proc(Pid(tid.0), "status")?;
        let mut status = Status::default();
        for line in text.split(|&byte| byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let set = || u64::from_str_radix(value, 16).unwrap_or(0);
            match name {
                "Tgid" => status.process = value.parse().unwrap_or(0),
                "PPid" => status.parent = value.parse().unwrap_or(0),
                "TracerPid" => status.tracer = value.parse().unwrap_or(0),
                "Threads" => status.threads = value.parse().unwrap_or(0),
                "State" => status.state = value.bytes().next().unwrap_or(0),
                "Seccomp" => status.confined = value != "0",
                "SigPnd" => {
                    status.own_pending = set();
                    status.pending |= status.own_pending;
                }
                "ShdPnd" => status.pending |= set(),
                "SigBlk" => status.blocked = set(),
                "SigIgn" => status.ignored = set(),
                "SigCgt" => status.caught = set(),
                _ => {}
            }
        }
        Ok(status)
    }

    pub(super) fn disposition(&self, signal: Signal) -> Disposition {
        if self.caught & signal.bit() != 0 {
            Disposition::Caught
        } else if self.ignored & signal.bit() != 0 || signal.ignored_by_default() {
            Disposition::Ignored
        } else if signal.stops_by_default() {
            Disposition::Stops
        } else {
            Disposition::Fatal
        }
    }

    /// Whether a signal is pending.
    pub(super) fn is_pending(&self, signal: Signal) -> bool {
        self.pending & signal.bit() != 0
    }

    /// Whether a signal that an instruction raised is about to be delivered.
    pub(super) fn trap_due(&self) -> bool {
        self.own_pending & !self.blocked & SYNCHRONOUS_SIGNALS != 0
    }

    /// Whether a pending signal is about to run a handler.
    pub(super) fn handler_due(&self) -> bool {
        self.pending & !self.blocked & self.caught != 0
    }
}

/// Fields of /proc/PID/stat by their numbers in proc_pid_stat(5), from the fourth on.
fn stat(pid: Pid) -> Result<impl Fn(usize) -> Option<u64>> {
    /// The number of the first field behind the command's closing parenthesis.
    const FIRST: usize = 3;
    let text = read_proc(pid, "stat")?;
    // The command may contain any bytes, parentheses and spaces too.
    let behind = text.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 1);
    let fields = String::from_utf8_lossy(text.get(behind..).unwrap_or_default()).into_owned();
    Ok(move |number: usize| fields.split_ascii_whitespace().nth(number.checked_sub(FIRST)?)?.parse().ok())
}

/// The start of a process' heap (`start_brk`); 0 where the kernel hides it.
pub(super) fn heap_start(pid: Pid) -> Result<u64> {
    const START_BRK: usize = 47;
    Ok(stat(pid)?(START_BRK).unwrap_or(0))
}

/// The addresses of a process' code, stack, data, heap, arguments and environment. `None`: the kernel hides them.
pub(super) fn layout(pid: Pid) -> Option<[u64; 10]> {
    const FIELDS: [usize; 10] = [26, 27, 28, 45, 46, 47, 48, 49, 50, 51];
    let stat = stat(pid).ok()?;
    let layout = FIELDS.map(|number| stat(number).unwrap_or(0));
    layout.iter().any(|&address| address > 1).then_some(layout)
}
