//! What the client wants of a run.

use ubp::Pid;

/// What the client wants of a run.
#[derive(Debug, Default)]
pub(super) struct Start {
    /// Whether the client has set its breakpoints, and the program runs.
    pub(super) is_configured: bool,
    pub(super) stops_on_entry: bool,
    /// Whether children are debugged too.
    pub(super) follows_forks: bool,
    /// Whether no breakpoint is wanted.
    pub(super) is_run_alone: bool,
    /// The process whose status is the client's result.
    pub(super) first: Option<Pid>,
}
