//! Threads as a user of a session sees them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::process::read_proc;
use crate::{Pid, Tid};

/// A thread of a traced process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// The thread.
    pub tid: Tid,
    /// Its name (prctl(2), `PR_SET_NAME`), at most 15 bytes, which the program chooses.
    pub name: OsString,
    /// What it does.
    pub state: ThreadState,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThreadState {
    /// The session holds it until [`Session::resume`](crate::Session::resume).
    Held,
    /// It runs, or waits for a processor.
    Running,
    /// It waits in the kernel, and a signal can end that wait.
    Sleeping,
    /// It waits in the kernel, and no signal ends that wait, or only `SIGKILL` does: for a device, or in `vfork` for its child.
    Uninterruptible,
    /// It is in a group-stop, which `SIGCONT` ends.
    GroupStop,
    /// It has stopped with something that the session has not handled yet: call [`Session::poll`](crate::Session::poll).
    Reporting,
    /// It has ended, and the process has not.
    Ended,
}

impl ThreadInfo {
    /// Looks at a thread. `known`: the state that the tracer itself knows. `None`: the thread is gone.
    pub(crate) fn read(tid: Tid, known: Option<ThreadState>) -> Option<ThreadInfo> {
        let mut name = read_proc(Pid(tid.0), "comm").ok()?;
        if name.last() == Some(&b'\n') {
            name.pop();
        }
        let letter = || {
            let text = read_proc(Pid(tid.0), "stat").ok()?;
            // The name may contain any bytes, parentheses and spaces too.
            let behind = text.iter().rposition(|&byte| byte == b')')?;
            text.get(behind + 2).copied()
        };
        let state = match known {
            Some(state) => state,
            None => ThreadState::of(letter()?),
        };
        Some(ThreadInfo { tid, name: OsString::from_vec(name), state })
    }
}

impl ThreadState {
    /// The state of a letter of proc_pid_stat(5).
    fn of(letter: u8) -> ThreadState {
        match letter {
            b'S' | b'I' => ThreadState::Sleeping,
            b'D' => ThreadState::Uninterruptible,
            b'T' => ThreadState::GroupStop,
            b't' => ThreadState::Reporting,
            b'Z' | b'X' | b'x' => ThreadState::Ended,
            _ => ThreadState::Running,
        }
    }
}
