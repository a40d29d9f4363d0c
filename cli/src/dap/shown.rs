//! What the client knows of the stopped threads.

use ubp::{Pid, Tid};
use ubp_symbols::StackFrame;
use ubp_symbols::values::Node;

/// What has variables.
#[derive(Clone, Debug)]
pub(super) enum Handle {
    /// The variables in scope in a frame, by the frame's number.
    Locals(usize),
    /// The registers of a frame's thread, by the frame's number.
    Registers(usize),
    /// The parts of a value in a frame.
    Parts(usize, Box<Node>),
}

/// What the client knows of the stopped threads.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Frames, whose numbers begin with 1.
    pub(super) frames: Vec<ShownFrame>,
    /// What has variables, with numbers from 1.
    pub(super) handles: Vec<Handle>,
}

/// A frame of a stopped thread.
#[derive(Clone, Debug)]
pub(super) struct ShownFrame {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    /// The number of frames inside of it.
    pub(super) depth: usize,
    pub(super) frame: StackFrame,
}

impl Shown {
    /// The threads run.
    pub(super) fn forget(&mut self) {
        *self = Shown::default();
    }

    /// The number of something that has variables.
    pub(super) fn add(&mut self, handle: Handle) -> usize {
        self.handles.push(handle);
        self.handles.len()
    }
}
