//! The instructions of one flow record.

use super::thread::Thread;
use crate::error::{Problem, Result};
use crate::flow::Id;
use crate::format::{self, action};
use crate::item::{Header, Next, Step};
use crate::memory::Memory;
use crate::varint::Cursor;

/// A partly read flow record.
pub(super) struct Segment {
    pub(super) tid: u32,
    tokens: Cursor,
    registers: Cursor,
    /// The number of instructions left that go to their latest successor.
    run: u64,
    /// The action for the instruction after them.
    action: u8,
    /// The instruction that comes next.
    at: Id,
    unseen: bool,
}

impl Segment {
    pub(super) fn new(tid: u32, at: Id, tokens: Cursor, registers: Cursor) -> Segment {
        Segment { tid, tokens, registers, run: 0, action: action::NONE, at, unseen: false }
    }

    /// The next instruction; `None` at the end.
    pub(super) fn step(
        &mut self,
        thread: &mut Thread,
        memory: &Memory,
        record: &[u8],
        header: Header,
    ) -> Result<Option<Step>, Problem> {
        let next = loop {
            if self.run > 0 {
                self.run -= 1;
                break Some(self.known(thread, 0)?);
            }
            match std::mem::replace(&mut self.action, action::NONE) {
                action::NONE if self.tokens.is_empty() => {
                    return match self.registers.end - self.registers.at {
                        0 => Ok(None),
                        left => Err(Problem::Excess(left as u64)),
                    };
                }
                action::NONE => self.token(record)?,
                rank @ (action::SECOND | action::THIRD) => break Some(self.known(thread, rank.into())?),
                action::RANK => {
                    let rank = self.tokens.number(record)?;
                    break Some(self.known(thread, rank)?);
                }
                action::FRESH => {
                    let distance = self.tokens.signed(record)?;
                    let next = thread.flow.at(thread.pc.wrapping_add_signed(distance))?;
                    thread.flow.learn(self.at, next);
                    break Some(next);
                }
                action::UNSEEN => self.unseen = true,
                action::UNFINISHED => break None,
                action => return Err(Problem::Action(action)),
            }
        };
        let registers = if header.registers {
            thread.registers.read_changes(header.machine, &mut self.registers, record)?;
            Some(thread.registers)
        } else {
            None
        };
        let (pc, code) = (thread.pc, thread.flow.code(self.at, memory));
        let next = match next {
            Some(id) => {
                self.at = id;
                thread.pc = thread.flow.pc(id);
                if std::mem::take(&mut self.unseen) { Next::Unseen(thread.pc) } else { Next::At(thread.pc) }
            }
            None => Next::Unfinished,
        };
        Ok(Some(Step { tid: self.tid, pid: thread.pid, pc, code, bits: thread.bits, next, registers }))
    }

    /// A successor of the present instruction.
    fn known(&self, thread: &mut Thread, rank: u64) -> Result<Id, Problem> {
        let place = usize::try_from(rank).ok();
        let next = place.and_then(|rank| thread.flow.take(self.at, rank));
        next.ok_or(Problem::Successor { pc: thread.pc, rank })
    }

    fn token(&mut self, record: &[u8]) -> Result<(), Problem> {
        let token = self.tokens.byte(record)?;
        self.action = token & 7;
        self.run = u64::from(token >> 3);
        if token >> 3 == format::RUN_GOES_ON {
            self.run = self.run.saturating_add(self.tokens.number(record)?);
        }
        if self.run > format::MOST_RUN {
            return Err(Problem::LongRun(self.run));
        }
        Ok(())
    }
}
