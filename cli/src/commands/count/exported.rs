//! The counts while the program runs, for others.

use std::collections::HashMap;

use ubp::{Pid, Session};

use crate::commands::tally::{Place, Tally, place};
use crate::fleet::{Labels, Roll, Snapshot};
use crate::process::Space;

/// The most locations of which each is told before its first hit. A rate then has the first hits too. Of more locations, those without hits would be
/// nearly all series.
const TOLD: usize = 1_000;

/// The series of the locations.
pub(super) struct Exported(Roll<Place>);

impl Default for Exported {
    fn default() -> Exported {
        Exported(Roll::new(None))
    }
}

impl Exported {
    /// The counts of all breakpoints, those that are gone too.
    pub(super) fn snapshot(&mut self, tally: &Tally, session: &Session, spaces: &HashMap<Pid, Space>) -> Snapshot {
        let mut count = 0;
        tally.present(session, spaces, |_, _, _| count += 1);
        let mut round = self.0.round();
        for (place, description, hits) in tally.gone() {
            round.add(place, || Labels::new(&description.location, ""), hits, None);
        }
        tally.present(session, spaces, |space, address, hits| {
            if hits > 0 || count <= TOLD {
                let module = space.module(address);
                let labels = || Labels::new(&space.describe(module, address).location, "");
                round.add(place(module, address), labels, hits, None);
            }
        });
        round.finish(spaces.len(), 0)
    }

    /// The counts when all breakpoints are gone.
    pub(super) fn last(&mut self, tally: &Tally) -> Snapshot {
        let mut round = self.0.round();
        for (place, description, hits) in tally.gone() {
            round.add(place, || Labels::new(&description.location, ""), hits, None);
        }
        round.finish(0, 0)
    }
}
