//! Thread ids of packets: `pPID.TID`, `TID`, with 0 for any and -1 for all (GDB manual, "thread-id syntax").

use std::fmt;

use ubp::{Pid, Tid};

use super::hex;

/// One number of a thread id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum One {
    Any,
    All,
    Number(i32),
}

/// Threads that a packet means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadId {
    pub(crate) process: One,
    pub(crate) thread: One,
}

impl ThreadId {
    pub(crate) const ALL: ThreadId = ThreadId { process: One::All, thread: One::All };

    pub(crate) fn of(pid: Pid, tid: Tid) -> ThreadId {
        ThreadId { process: One::Number(pid.0), thread: One::Number(tid.0) }
    }

    pub(crate) fn parse(text: &[u8]) -> Option<ThreadId> {
        match text.strip_prefix(b"p") {
            None => Some(ThreadId { process: One::Any, thread: One::parse(text)? }),
            Some(rest) => match hex::split(rest, b'.') {
                None => Some(ThreadId { process: One::parse(rest)?, thread: One::All }),
                Some((process, thread)) => {
                    Some(ThreadId { process: One::parse(process)?, thread: One::parse(thread)? })
                }
            },
        }
    }

    /// Whether a thread is meant.
    pub(crate) fn matches(self, pid: Pid, tid: Tid) -> bool {
        self.process.matches(pid.0) && self.thread.matches(tid.0)
    }
}

impl One {
    fn parse(text: &[u8]) -> Option<One> {
        match text {
            b"-1" => Some(One::All),
            b"0" => Some(One::Any),
            text => Some(One::Number(hex::number(text)?.try_into().ok()?)),
        }
    }

    fn matches(self, number: i32) -> bool {
        match self {
            One::Any | One::All => true,
            One::Number(own) => own == number,
        }
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |f: &mut fmt::Formatter<'_>, one: One| match one {
            One::Any => f.write_str("0"),
            One::All => f.write_str("-1"),
            One::Number(number) => write!(f, "{number:x}"),
        };
        f.write_str("p")?;
        part(f, self.process)?;
        f.write_str(".")?;
        part(f, self.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_process_where_they_name_one() {
        let id = |text: &str| ThreadId::parse(text.as_bytes());
        assert_eq!(id("p1f.20"), Some(ThreadId::of(Pid(0x1f), Tid(0x20))));
        assert_eq!(id("-1"), Some(ThreadId { process: One::Any, thread: One::All }));
        assert_eq!(id("p2"), Some(ThreadId { process: One::Number(2), thread: One::All }));
        assert_eq!(id("p2.-1").map(|id| id.to_string()).as_deref(), Some("p2.-1"));
        assert_eq!((id("px.1"), id(""), id("p1.")), (None, None, None));
        assert!(id("p2.-1").is_some_and(|id| id.matches(Pid(2), Tid(7)) && !id.matches(Pid(3), Tid(7))));
    }
}
