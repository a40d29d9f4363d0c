//! The part of a run that is recorded.
//!
//! Outside of it threads are stepped all the same, and nothing is written. A thread is taken into the trace before an instruction, so that
//! what it did in part before the recording began is not in the trace.

use crate::item::Mapping;

/// Says at which instructions a recording begins and ends. [`Recorder::keep_to`](crate::Recorder::keep_to) takes one.
pub trait Part {
    /// A file with code is mapped in a process. A thread of it is about to run an instruction.
    fn mapped(&mut self, mapping: &Mapping);

    /// A process executes another program: its mappings are gone.
    fn executed(&mut self, pid: u32);

    /// Whether the recording begins with the instruction at an address in a process.
    fn begins(&mut self, pid: u32, pc: u64) -> bool;

    /// Whether the recording ends before the instruction at an address in a process.
    fn ends(&mut self, pid: u32, pc: u64) -> bool;
}

/// What is recorded at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing yet.
    Before,
    Within,
    /// Nothing any more.
    Over,
}
