//! What /proc tells of threads.

use crate::process::read_proc;
use crate::{Pid, Result, Signal, Tid};

/// What a thread does with a signal.
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
    pub(super) tracer: i32,
    pub(super) state: u8,
    /// Pending for the thread alone.
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
                "TracerPid" => status.tracer = value.parse().unwrap_or(0),
                "State" => status.state = value.bytes().next().unwrap_or(0),
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

    /// Whether a signal waits.
    pub(super) fn is_pending(&self, signal: Signal) -> bool {
        self.pending & signal.bit() != 0
    }

    /// Whether a signal that an instruction raised waits to be delivered.
    pub(super) fn trap_due(&self) -> bool {
        const RAISED: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE, libc::SIGSYS];
        let raised = RAISED.iter().fold(0, |set, &signal| set | Signal(signal).bit());
        self.own_pending & !self.blocked & raised != 0
    }

    /// Whether a signal waits that will run a handler.
    pub(super) fn handler_due(&self) -> bool {
        self.pending & !self.blocked & self.caught != 0
    }
}

/// Where the heap of a process begins (`start_brk`, proc_pid_stat(5)); 0 where that is hidden.
pub(super) fn heap_start(pid: Pid) -> Result<u64> {
    /// Fields that stand between the command's closing parenthesis and `start_brk`, the 47th.
    const BEFORE: usize = 44;
    let text = read_proc(pid, "stat")?;
    // The command may hold anything, parentheses and spaces too.
    let behind = text.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 1);
    let fields = String::from_utf8_lossy(text.get(behind..).unwrap_or_default()).into_owned();
    Ok(fields.split_ascii_whitespace().nth(BEFORE).and_then(|field| field.parse().ok()).unwrap_or(0))
}
