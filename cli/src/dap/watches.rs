//! Watchpoints of the client on variables.

use std::collections::HashMap;

use ubp::{Pid, WatchId};

/// The watchpoints, with their descriptions.
#[derive(Debug, Default)]
pub(super) struct Watches(pub(super) HashMap<(Pid, WatchId), String>);

impl Watches {
    /// The description of a watchpoint.
    pub(super) fn name(&self, pid: Pid, id: WatchId) -> Option<String> {
        self.0.get(&(pid, id)).cloned()
    }

    /// A process has no watchpoints any more.
    pub(super) fn forget(&mut self, pid: Pid) {
        self.0.retain(|(known, _), _| *known != pid);
    }
}
