//! What the front does beside passing signals: a view that the user controls.

use std::os::fd::BorrowedFd;

use crate::failure::Result;

/// Does the front's own work.
pub(crate) trait Attendant {
    /// The descriptors that are read.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;
    /// One of the descriptors may be readable. Returns `false` if the worker has to leave the program, which goes on.
    ///
    /// # Errors
    /// The view cannot go on. The worker leaves the program too.
    fn attend(&mut self) -> Result<bool>;
    /// The worker has nothing more to trace: gives the terminal back.
    fn leave(&mut self);
    /// The worker has ended.
    fn finish(&mut self);
}

/// No work of its own.
pub(super) struct Nobody;

impl Attendant for Nobody {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn attend(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn leave(&mut self) {}

    fn finish(&mut self) {}
}
