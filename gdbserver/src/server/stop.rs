//! Stops of threads, and the text by which the client is told.

use std::path::PathBuf;

use ubp::{Pid, Signal, Tid};

use crate::protocol::{ThreadId, hex, signals};

/// `SIGTRAP` in the protocol, which most stops are told as.
const TRAP: u8 = 5;

/// A stop of a thread, or an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
    pub(crate) kind: StopKind,
}

/// Why a thread stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StopKind {
    /// A breakpoint of the client, at this address.
    Breakpoint(u64),
    /// A hardware breakpoint.
    HardwareBreakpoint(u64),
    /// A watchpoint: `watch`, `rwatch` or `awatch`, and the address.
    Watch(&'static str, u64),
    /// A step is done, or a program has begun.
    Trap,
    Signal(Signal),
    /// The client asked for it, by an interrupt.
    Interrupted,
    /// The client asked for it, by `vCont;t`.
    Paused,
    Forked {
        child: Pid,
        is_vfork: bool,
    },
    VforkDone,
    Exec(PathBuf),
    SyscallEntered(u64),
    SyscallReturned(u64),
    ThreadStarted,
    ThreadExited,
    Exited(i32),
    Killed(Signal),
}

impl Stop {
    /// Whether the process has ended.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self.kind, StopKind::Exited(_) | StopKind::Killed(_))
    }

    /// The stop reply (GDB manual, "Stop Reply Packets"). lldb reads some reasons at `reason` alone, which gdb skips.
    pub(crate) fn text(&self) -> String {
        let thread = ThreadId::of(self.pid, self.tid);
        let pid = self.pid.0;
        match &self.kind {
            StopKind::Exited(status) => return format!("W{:02x};process:{pid:x}", status & 0xff),
            StopKind::Killed(signal) => return format!("X{:02x};process:{pid:x}", signals::to_protocol(*signal)),
            StopKind::ThreadExited => return format!("w00;p{pid:x}.{:x}", self.tid.0),
            _ => {}
        }
        let signal = match self.kind {
            StopKind::Signal(signal) => signals::to_protocol(signal),
            StopKind::Interrupted => signals::to_protocol(Signal(2)),
            StopKind::Paused | StopKind::ThreadStarted => 0,
            _ => TRAP,
        };
        let reason = match &self.kind {
            StopKind::Breakpoint(_) => "swbreak:;".to_owned(),
            StopKind::HardwareBreakpoint(_) => "hwbreak:;".to_owned(),
            StopKind::Watch(kind, address) => format!("{kind}:{address:x};"),
            StopKind::Forked { child, is_vfork } => {
                let child = ThreadId::of(*child, child.leader());
                format!("{}:{child};", if *is_vfork { "vfork" } else { "fork" })
            }
            StopKind::VforkDone => "vforkdone:;reason:vforkdone;".to_owned(),
            StopKind::Exec(path) => format!("exec:{};reason:exec;", hex::encode(path.as_os_str().as_encoded_bytes())),
            StopKind::SyscallEntered(number) => format!("syscall_entry:{number:x};"),
            StopKind::SyscallReturned(number) => format!("syscall_return:{number:x};"),
            StopKind::ThreadStarted => "create:;".to_owned(),
            _ => String::new(),
        };
        format!("T{signal:02x}{reason}thread:{thread};")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_told_in_the_words_of_the_manual() {
        let text = |kind| Stop { pid: Pid(16), tid: Tid(17), kind }.text();
        assert_eq!(text(StopKind::Breakpoint(1)), "T05swbreak:;thread:p10.11;");
        assert_eq!(text(StopKind::Watch("rwatch", 0x7f)), "T05rwatch:7f;thread:p10.11;");
        assert_eq!(text(StopKind::Signal(Signal(11))), "T0bthread:p10.11;");
        assert_eq!(text(StopKind::Forked { child: Pid(18), is_vfork: true }), "T05vfork:p12.12;thread:p10.11;");
        assert_eq!(text(StopKind::Exec("/a".into())), "T05exec:2f61;reason:exec;thread:p10.11;");
        assert_eq!(text(StopKind::Exited(3)), "W03;process:10");
        assert_eq!(text(StopKind::Killed(Signal(9))), "X09;process:10");
        assert_eq!(text(StopKind::ThreadExited), "w00;p10.11");
    }
}
