//! What one call gave.

use super::location::Location;

/// What one call gave.
#[derive(Debug)]
pub(crate) struct CallSite {
    /// Registers at the entry of the called function, and expressions for their values in the frame of the caller.
    pub(super) given: Vec<(u16, Location)>,
}

impl CallSite {
    /// The expression for the value that a register had at the entry of the called function, for the frame of the caller.
    pub(crate) fn given(&self, register: u16) -> Option<&Location> {
        self.given.iter().find(|(number, _)| *number == register).map(|(_, value)| value)
    }
}
