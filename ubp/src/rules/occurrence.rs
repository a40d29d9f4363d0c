//! Occurrences: events that rules record.

use std::sync::Arc;
use std::time::Duration;

use super::action::Payload;
use super::reader::Reader;
use super::value::Value;
use crate::process::read_proc;
use crate::{Address, EventKind, Pid, Registers, Tid};

/// An event that a rule recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occurrence {
    /// Its number: occurrences of a session are numbered from 1 on, without a gap.
    pub sequence: u64,
    /// The time of the event (`CLOCK_MONOTONIC`).
    pub time: Duration,
    /// The process.
    pub pid: Pid,
    /// The thread.
    pub thread: ThreadId,
    /// The name of the rule.
    pub rule: Arc<str>,
    /// What happened.
    pub kind: EventKind,
    /// What the rule asked for.
    pub captured: Captured,
}

/// A thread that is not mistaken for a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId {
    /// The thread's number.
    pub tid: Tid,
    /// The time at which it started, in ticks of the kernel's clock since the boot (`starttime` of proc_pid_stat(5)); `None` if it was gone.
    pub started: Option<u64>,
}

/// What an occurrence has beside its event, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// The general registers.
    pub registers: Option<Registers>,
    /// The first arguments.
    pub arguments: Vec<u64>,
    /// The stack, from the stack pointer on.
    pub stack: Vec<u8>,
    /// Memory, in the order in which the rule asks for it.
    pub memory: Vec<Vec<u8>>,
}

impl Captured {
    pub(super) fn new(payload: &Payload, reader: &mut Reader<'_>) -> Captured {
        let arguments = (0..payload.arguments).map_while(|number| reader.value(Value::Argument(number))).collect();
        let memory = payload.memory.iter().map(|(address, length)| {
            let address = reader.value(*address);
            address.map_or_else(Vec::new, |address| reader.memory(Address(address), usize::from(*length)))
        });
        let memory = memory.collect();
        let needs = payload.registers || payload.stack > 0;
        let registers = if needs { reader.registers() } else { None };
        let stack = registers.filter(|_| payload.stack > 0).map(|registers| registers.sp());
        let stack = stack.map_or_else(Vec::new, |sp| reader.memory(sp, usize::from(payload.stack)));
        Captured { registers: registers.filter(|_| payload.registers), arguments, stack, memory }
    }
}

impl ThreadId {
    /// Reads when a thread started.
    pub(super) fn read(tid: Tid) -> ThreadId {
        let field = || {
            let text = read_proc(Pid(tid.0), "stat").ok()?;
            // The name may contain any bytes, parentheses and spaces too. The 22nd field is the 20th behind it.
            let behind = text.iter().rposition(|byte| *byte == b')')?;
            let mut fields = text.get(behind + 1..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
            std::str::from_utf8(fields.nth(19)?).ok()?.parse().ok()
        };
        ThreadId { tid, started: field() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_by_number_and_start() {
        let own = ThreadId::read(Tid(std::process::id() as i32));
        assert_eq!(own, ThreadId::read(own.tid));
        assert!(own.started.is_some_and(|started| started > 0));
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let other = ThreadId::read(Tid(child.id() as i32));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(other.started >= own.started);
        assert_eq!(ThreadId::read(other.tid).started, None);
    }
}
