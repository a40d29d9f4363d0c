//! The times while the program runs, for others.

use std::collections::BTreeMap;

use super::row::{Key, Times};
use crate::fleet::{Roll, Snapshot};

/// The times of all rows.
pub(super) fn snapshot(rows: &BTreeMap<Key, Times>, roll: &mut Roll<Key>, processes: usize, unseen: u64) -> Snapshot {
    let mut round = roll.round();
    for (key, times) in rows {
        round.add(key.clone(), || times.labels(), 0, Some(times.distribution()));
    }
    round.finish(processes, unseen)
}
