//! The survey of breakpoints and jumps.

use ubp_symbols::code::Mode;

use crate::code::{Code, Ranges};
use crate::counts::Counts;
use crate::way::Way;
use crate::{arm64, parts, x86};

/// How threads pass breakpoints on the instructions of a file.
#[derive(Debug, Default)]
pub struct Survey {
    /// The source of the ranges of code.
    pub ranges: Ranges,
    /// Bytes of code.
    pub code_bytes: u64,
    /// Numbers of instructions by way.
    pub counts: Counts,
    /// The instructions that can have no breakpoint, in the order of the code.
    pub refusals: Vec<Refused>,
    /// Runs of bytes that are no instructions.
    pub undecodable: Vec<Undecodable>,
}

/// An instruction that can have no breakpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its address.
    pub address: u64,
    /// Its bytes in the order of memory.
    pub bytes: Box<[u8]>,
    /// Why.
    pub reason: String,
}

/// Consecutive bytes that are no instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// The address of the first one.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The error at the first byte.
    pub error: String,
}

impl Survey {
    /// Surveys code, by as many threads as there are processors. `progress` is called repeatedly with the number of bytes done and of all bytes.
    pub fn of(code: &Code<'_>, mut progress: impl FnMut(u64, u64)) -> Survey {
        let (pieces, rests, code_bytes) = (code.pieces(), code.rests(), code.size());
        let progress = |done| progress(done, code_bytes);
        let found = match code.mode() {
            Mode::X86(mode) => {
                parts::survey(pieces, |_, _| true, |part, survey| x86::look(part, &rests, mode, survey), progress)
            }
            Mode::Arm64 => parts::survey(pieces, arm64::is_apart, arm64::look, progress),
        };
        Survey { ranges: code.ranges(), code_bytes, ..found }
    }

    /// Counts an instruction, and lists it if it is refused.
    pub(crate) fn add(&mut self, address: u64, bytes: &[u8], way: Way) {
        let counts = &mut self.counts;
        counts.instructions += 1;
        match way {
            Way::Emulated => counts.emulated += 1,
            Way::Boosted => counts.boosted += 1,
            Way::Trapped => counts.trapped += 1,
            Way::Stepped => counts.stepped += 1,
            Way::Refused(reason) => {
                counts.refused += 1;
                self.refusals.push(Refused { address, bytes: bytes.into(), reason });
            }
        }
    }

    /// Counts whether an instruction can have a jump, or why not. `starts`: it begins a range.
    pub(crate) fn add_jump(&mut self, starts: bool, no_jump: Option<String>) {
        let counts = &mut self.counts;
        counts.starts += u64::from(starts);
        match no_jump {
            None => {
                counts.jumps += 1;
                counts.jumps_at_starts += u64::from(starts);
            }
            Some(reason) => *counts.no_jumps.entry(reason).or_default() += 1,
        }
    }

    /// Lists bytes that are no instruction, as part of the run that they continue.
    pub(crate) fn add_undecodable(&mut self, address: u64, bytes: &[u8], error: impl ToString) {
        self.counts.undecodable_bytes += bytes.len() as u64;
        match self.undecodable.last_mut().filter(|last| last.ends_at(address)) {
            Some(last) => last.bytes.extend_from_slice(bytes),
            None => self.undecodable.push(Undecodable { address, bytes: bytes.into(), error: error.to_string() }),
        }
    }

    /// This survey and one of the code behind it.
    pub(crate) fn followed_by(mut self, next: Survey) -> Survey {
        self.counts.add(next.counts);
        self.refusals.extend(next.refusals);
        for run in next.undecodable {
            match self.undecodable.last_mut().filter(|last| last.ends_at(run.address)) {
                Some(last) => last.bytes.extend_from_slice(&run.bytes),
                None => self.undecodable.push(run),
            }
        }
        self
    }
}

impl Undecodable {
    fn ends_at(&self, address: u64) -> bool {
        self.address.wrapping_add(self.bytes.len() as u64) == address
    }
}
