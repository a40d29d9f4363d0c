//! The debug registers of one thread.

use crate::watch::Piece;

/// Whether a thread has the debug registers that its memory's watchpoints want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ptrace) enum Mode {
    #[default]
    Wanted,
    /// Not while the thread passes, by one step, an access that the processor reports before it is made.
    Passing,
    /// Not while the thread runs a function for the tracer.
    Suspended,
}

/// The debug registers of a thread.
#[derive(Debug, Default)]
pub(in crate::ptrace) struct Armed {
    /// The `Watches::epoch` that the contents have.
    pub(in crate::ptrace) epoch: u64,
    pub(in crate::ptrace) pieces: Vec<Piece>,
    mode: Mode,
}

impl Armed {
    /// Whether a debug register observes anything.
    pub(in crate::ptrace) fn is_any(&self) -> bool {
        !self.pieces.is_empty()
    }

    pub(in crate::ptrace) fn is_passing(&self) -> bool {
        self.mode == Mode::Passing
    }

    /// The thread has no debug registers until the end of its next step.
    pub(in crate::ptrace) fn begin_pass(&mut self) {
        self.mode = Mode::Passing;
    }

    /// Returns whether the thread was passing an access, and ends that.
    pub(in crate::ptrace) fn end_pass(&mut self) -> bool {
        let is_passing = self.is_passing();
        if is_passing {
            self.mode = Mode::Wanted;
        }
        is_passing
    }

    /// The thread has no debug registers until [`Armed::end_suspension`], which takes the result.
    pub(in crate::ptrace) fn suspend(&mut self) -> Mode {
        std::mem::replace(&mut self.mode, Mode::Suspended)
    }

    pub(in crate::ptrace) fn end_suspension(&mut self, before: Mode) {
        self.mode = before;
    }

    /// Whether the thread has the debug registers that its memory's watchpoints want.
    pub(in crate::ptrace) fn is_wanted(&self) -> bool {
        self.mode == Mode::Wanted
    }

    /// Whether accesses of the thread are hits.
    pub(in crate::ptrace) fn is_observed(&self) -> bool {
        self.mode != Mode::Suspended
    }
}
