//! Where the user lets a thread run.

use super::thread::Goal;
use super::tracees::Tracees;
use crate::{EventKind, Pid, Tid};

/// Whether an event ends what the user let its thread run for.
pub(super) fn ends_goal(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Hit(_) | EventKind::Stepped | EventKind::Exec | EventKind::Interrupted)
}

/// A thread runs nowhere any more.
pub(super) fn end_goal(tracees: &mut Tracees, tid: Tid) {
    let Some(thread) = tracees.threads.get_mut(&tid) else { return };
    let (pid, goal) = (thread.pid, std::mem::take(&mut thread.goal));
    release_goal(tracees, pid, goal);
}

/// Removes the site of a goal that a thread had, if nobody else needs it.
pub(super) fn release_goal(tracees: &mut Tracees, pid: Pid, goal: Goal) {
    if let (Goal::Site { site, .. }, Ok(space)) = (goal, tracees.space_of_mut(pid)) {
        space.remove_target(site);
    }
}
