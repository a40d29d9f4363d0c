//! A program that a test has started.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Output};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that ends with this, and all that it has started with it, also where a test fails.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Starts the program of a command.
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(Some(command.spawn().expect("the program starts")))
    }

    /// Waits for the end of the program, and returns its output.
    pub(crate) fn output(mut self) -> Output {
        self.0.take().expect("it is there until it is dropped").wait_with_output().expect("its output can be read")
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        // The numbers of a program that has ended may be another's.
        if matches!(child.try_wait(), Ok(None)) {
            end_children(child.id());
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ends what a process has started, the latest first. A tracer that was killed would leave the program that it started.
fn end_children(process: u32) {
    for thread in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|number| number.parse().ok()) {
            end_children(child);
            let _ = kill(Pid::from_raw(child as i32), Signal::SIGKILL);
        }
    }
}
