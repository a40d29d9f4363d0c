//! Recorded hits, and the command for their buffer.

use std::collections::VecDeque;

use libc::user_regs_struct;
use wire::buffer::{LEAST, MOST, Mode};
use wire::commands::Command;

use crate::{Buffer, Options, Record, WhenFull};

/// Bytes of memory that the module tells of a hit: the return address of a function at its first instruction.
pub(super) const MEMORY: u16 = 8;
/// Bytes of an event of a hit: its header and fields, the registers, the memory.
const EVENT: u64 = 72 + size_of::<user_regs_struct>() as u64 + MEMORY as u64;

/// The recorded hits of a session.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// Whether the module tells of hits. It is unknown before the first breakpoint that records.
    pub(super) by_module: Option<bool>,
    pub(super) records: VecDeque<Record>,
    /// Number of records that were overwritten here.
    pub(super) overwritten: u64,
}

/// A hit of which the module has told.
#[derive(Debug)]
pub(super) struct ToldHit {
    pub(super) time: u64,
    pub(super) debuggee: u64,
    pub(super) thread: u64,
    pub(super) address: u64,
    /// As the channel has them.
    pub(super) registers: Vec<u8>,
    /// The first bytes of the stack, as many as could be read.
    pub(super) stack: Vec<u8>,
}

/// The command that gives the channel the session's buffer. Hits wake the session where they are not to be kept for later, and at once where
/// events are among them.
pub(super) fn command(options: &Options) -> Command<'static> {
    let buffer = options.buffer;
    let size = u64::from(buffer.records).saturating_mul(EVENT).clamp(LEAST, MOST);
    let (mode, mark) = match buffer.when_full {
        WhenFull::Wait => (Mode::Lossless, size / 2),
        WhenFull::Drop => (Mode::Drop, size / 2),
        WhenFull::Overwrite => (Mode::Circular, size),
    };
    let mark = if options.told_only { 0 } else { mark };
    Command::Buffer { mode: mode as u64, size, mark }
}

impl Recorder {
    pub(super) fn push(&mut self, record: Record, buffer: Buffer) {
        self.records.push_back(record);
        if buffer.when_full == WhenFull::Overwrite && self.records.len() > buffer.records as usize {
            self.records.pop_front();
            self.overwritten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_a_command_that_the_module_accepts() {
        for (when_full, mode) in
            [(WhenFull::Wait, Mode::Lossless), (WhenFull::Drop, Mode::Drop), (WhenFull::Overwrite, Mode::Circular)]
        {
            for records in [0, 64, 1000, 16_384, u32::MAX] {
                let options = Options { buffer: Buffer { when_full, records, stack: 0 }, ..Options::default() };
                let Command::Buffer { mode: number, size, mark } = command(&options) else { panic!() };
                let buffer = wire::buffer::Buffer::from_words(number, size, mark);
                assert_eq!(buffer.map(|buffer| buffer.mode), Ok(mode), "{records}");
            }
        }
    }
}
