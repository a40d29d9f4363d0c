//! The numbers of a survey.

use std::collections::BTreeMap;

use serde::Serialize;

/// Numbers of instructions, if nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All of them: the sum of the next five.
    pub instructions: u64,
    /// Those done on the thread's registers and memory.
    pub emulated: u64,
    /// Those of which a thread runs a copy that jumps back.
    pub boosted: u64,
    /// Those of which a thread runs a copy with a trap behind it.
    pub trapped: u64,
    /// Those of which a thread runs a copy by a single step.
    pub stepped: u64,
    /// Those that can have no breakpoint.
    pub refused: u64,
    /// Those at which a jump can be set, over ptrace in 64-bit x86 programs. Code of arm64 is not looked at.
    pub jumps: u64,
    /// Those of them that begin a range of code.
    pub jumps_at_starts: u64,
    /// The ranges of code, of x86.
    pub starts: u64,
    /// Those without a jump, by reason.
    pub no_jumps: BTreeMap<String, u64>,
    /// Bytes that are no instructions.
    pub undecodable_bytes: u64,
}

impl Counts {
    /// Adds the numbers of other code.
    pub(crate) fn add(&mut self, other: Counts) {
        self.instructions += other.instructions;
        self.emulated += other.emulated;
        self.boosted += other.boosted;
        self.trapped += other.trapped;
        self.stepped += other.stepped;
        self.refused += other.refused;
        self.jumps += other.jumps;
        self.jumps_at_starts += other.jumps_at_starts;
        self.starts += other.starts;
        for (reason, count) in other.no_jumps {
            *self.no_jumps.entry(reason).or_default() += count;
        }
        self.undecodable_bytes += other.undecodable_bytes;
    }
}
