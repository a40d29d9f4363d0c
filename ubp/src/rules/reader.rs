//! The kinds and values of events.

use super::value::Value;
use super::vocabulary::{Field, Kind};
use crate::{Address, Arch, Event, EventKind, Operand, Registers, Session, SyscallResult};

impl Kind {
    /// The kind of an event; `None` for events that no rule is about ([`EventKind::Interrupted`] and group-stops).
    pub fn of(event: &EventKind) -> Option<Kind> {
        Some(match event {
            EventKind::Hit(_) => Kind::Breakpoint,
            EventKind::Stepped => Kind::Stepped,
            EventKind::Exec | EventKind::Followed(_) => Kind::Exec,
            EventKind::Loaded(_) => Kind::Loaded,
            EventKind::Unloaded(_) => Kind::Unloaded,
            EventKind::Forked { .. } => Kind::Forked,
            EventKind::ThreadStarted => Kind::ThreadStarted,
            EventKind::ThreadExited => Kind::ThreadExited,
            EventKind::Signal(_) => Kind::SignalDelivered,
            EventKind::Watched { .. } => Kind::Watched,
            EventKind::SyscallEntered(_) => Kind::SyscallEntered,
            EventKind::SyscallReturned(_) => Kind::SyscallReturned,
            EventKind::Exited(_) => Kind::Exited,
            EventKind::Killed(_) => Kind::Killed,
            EventKind::GroupStopped(_)
            | EventKind::Continued
            | EventKind::Interrupted
            | EventKind::VforkDone
            | EventKind::NotFollowed(_) => return None,
        })
    }
}

/// An event whose values are read as they are needed.
pub(super) struct Reader<'a> {
    session: &'a mut Session,
    event: &'a Event,
    /// Those of the event's thread, once they were read.
    registers: Option<Registers>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(session: &'a mut Session, event: &'a Event) -> Reader<'a> {
        Reader { session, event, registers: None }
    }

    pub(super) fn registers(&mut self) -> Option<Registers> {
        if self.registers.is_none() {
            self.registers = self.session.registers(self.event.tid).ok();
        }
        self.registers
    }

    /// The architecture that the thread executes.
    pub(super) fn arch(&mut self) -> Option<Arch> {
        self.registers().map(|registers| registers.arch())
    }

    /// Reads memory of the event's process, as much as there is.
    pub(super) fn memory(&mut self, address: Address, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let read = self.session.read_memory(self.event.pid, address, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Reads a value; `None` if the event has none or it cannot be read.
    pub(super) fn value(&mut self, value: Value) -> Option<u64> {
        match (value, &self.event.kind) {
            (Value::Field(field), kind) => number(field, kind),
            (Value::Argument(number), EventKind::SyscallEntered(call)) => {
                call.arguments.get(usize::from(number)).copied()
            }
            // Argument registers mean something at a function's first instruction alone.
            (Value::Argument(_), kind) if !matches!(kind, EventKind::Hit(_)) => None,
            (value, _) => {
                let operand = value.operand(self.arch()?)?;
                self.operand(operand)
            }
        }
    }

    fn operand(&mut self, operand: Operand) -> Option<u64> {
        let registers = self.registers()?;
        let word = |register| {
            let value = registers.get(register)?;
            Some(if registers.arch().width() == 4 { value & 0xffff_ffff } else { value })
        };
        match operand {
            Operand::Register(register) => word(register),
            Operand::Memory { base, offset, size } => {
                let start = base.map_or(Some(0), word)?;
                let bytes = self.memory(Address(start).offset(offset), usize::from(size));
                let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                (bytes.len() == usize::from(size)).then_some(value)
            }
            _ => None,
        }
    }
}

/// A number of an event.
fn number(field: Field, kind: &EventKind) -> Option<u64> {
    Some(match (field, kind) {
        (Field::Number, EventKind::SyscallEntered(call)) => call.number,
        (Field::Number, EventKind::SyscallReturned(returned)) => returned.number,
        (Field::Number, EventKind::Signal(info)) => info.signal.0 as u64,
        (Field::Number, EventKind::Killed(signal)) => signal.0 as u64,
        (Field::Result, EventKind::SyscallReturned(returned)) => match returned.result {
            SyscallResult::Value(value) => value,
            SyscallResult::Error(error) => i64::from(error).wrapping_neg() as u64,
            SyscallResult::Interrupted => return None,
        },
        (Field::Status, EventKind::Exited(status)) => i64::from(*status) as u64,
        (Field::Child, EventKind::Forked { child }) => child.0 as u64,
        (Field::Address, EventKind::Hit(hit)) => hit.address().0,
        (Field::Address, EventKind::Watched { address, .. }) => address.0,
        (Field::Hits, EventKind::Hit(hit)) => hit.count(),
        _ => return None,
    })
}
