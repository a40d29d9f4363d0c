//! A step of a thread, by source lines or instructions.

use insn::Flow;
use serde::Deserialize;

/// How far a step goes.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Granularity {
    #[default]
    Statement,
    Line,
    Instruction,
}

/// A step of a thread.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) granularity: Granularity,
    /// The line at which it began.
    pub(super) line: Option<(String, u32)>,
    pub(super) goal: Goal,
    /// The number of instructions of a stub so far.
    pub(super) stub: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Over,
    In,
    Out,
}

/// Where the thread runs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// It has no goal yet.
    Choose,
    /// Behind an instruction with this flow.
    Next(Flow),
    /// At an address, in a frame that is not deeper than the one with this stack pointer.
    Reach { address: u64, sp: u64, then: Then },
}

/// What follows when the thread is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The step is done.
    Stop,
    /// The line decides.
    Look,
    /// The function of the step has returned: the caller's line decides.
    Returned,
}
