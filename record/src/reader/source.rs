//! Header and records as bytes.

use std::io::{self, Read};

use insn::x86::Vendor;

use crate::error::{Problem, Result};
use crate::format::{FLAG_REGISTERS, MAGIC, MOST_RECORD, VERSION, machine};
use crate::item::{Header, Machine};
use crate::varint::Cursor;

/// The source of the bytes.
pub(super) struct Source<R> {
    inner: R,
    /// Bytes read so far.
    pub(super) offset: u64,
    /// Where the record that is being read begins.
    pub(super) start: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(inner: R) -> Source<R> {
        Source { inner, offset: 0, start: 0 }
    }

    pub(super) fn header(&mut self) -> Result<Header, Problem> {
        let mut magic = [0; MAGIC.len()];
        self.fill(&mut magic)?;
        if magic != MAGIC {
            return Err(Problem::NotATrace(magic));
        }
        let version = self.number()?;
        if version != VERSION {
            return Err(Problem::Version(version));
        }
        let flags = self.number()?;
        if flags & !FLAG_REGISTERS != 0 {
            return Err(Problem::Flags(flags));
        }
        let machine = match self.number()? {
            machine::INTEL => Machine::X86(Vendor::Intel),
            machine::AMD => Machine::X86(Vendor::Amd),
            machine::AARCH64 => Machine::Arm64,
            machine => return Err(Problem::Machine(machine)),
        };
        Ok(Header { machine, registers: flags & FLAG_REGISTERS != 0 })
    }

    /// Reads the next record into `payload` and returns its kind; `None` where the trace ends before it does.
    pub(super) fn record(&mut self, payload: &mut Vec<u8>) -> Result<Option<u8>, Problem> {
        self.start = self.offset;
        let whole = self.try_record(payload);
        match whole {
            Ok(kind) => Ok(Some(kind)),
            Err(Problem::Cut) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn try_record(&mut self, payload: &mut Vec<u8>) -> Result<u8, Problem> {
        let kind = self.byte()?;
        let length = self.number()?;
        if length > MOST_RECORD {
            return Err(Problem::LongRecord(length));
        }
        payload.clear();
        let read = self.inner.by_ref().take(length).read_to_end(payload).map_err(problem)?;
        self.offset += read as u64;
        if (read as u64) < length { Err(Problem::Cut) } else { Ok(kind) }
    }

    fn byte(&mut self) -> Result<u8, Problem> {
        let mut byte = [0];
        self.fill(&mut byte)?;
        Ok(byte[0])
    }

    fn number(&mut self) -> Result<u64, Problem> {
        let mut bytes = Vec::new();
        while bytes.len() < 10 {
            let byte = self.byte()?;
            bytes.push(byte);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Cursor { at: 0, end: bytes.len() }.number(&bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Problem> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Problem::Cut,
            _ => problem(error),
        })?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

fn problem(error: io::Error) -> Problem {
    Problem::Read(error.kind(), error.to_string())
}
