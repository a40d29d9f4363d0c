//! Tells of locations at which threads are stopped although jumps were wanted, because of the process and not of the code.

use std::collections::BTreeMap;

use ubp::{BreakpointId, NoJump, Session};

use super::told::Told;
use crate::process::Space;

/// Tells for each module how many of its new breakpoints could have been jumps in another process.
pub(super) fn tell(session: &Session, space: &Space, new: &[BreakpointId], told: &mut Told) {
    let mut all: BTreeMap<(String, String), u64> = BTreeMap::new();
    for breakpoint in new.iter().filter_map(|id| session.breakpoint(space.pid, *id)) {
        let Some(reason @ (NoJump::NoRoom | NoJump::Confined | NoJump::Unstoppable)) = breakpoint.no_jump() else {
            continue;
        };
        if let Some(module) = space.module(breakpoint.address().0) {
            *all.entry((module.image.name().to_string(), reason.to_string())).or_default() += 1;
        }
    }
    for ((module, reason), count) in all {
        let locations = if count == 1 { "1 location".into() } else { format!("{count} locations") };
        told.tell_once(
            format!("jumpless {module}"),
            format_args!("{module}: each hit at {locations} stops its thread, because there is no jump: {reason}"),
        );
    }
}
