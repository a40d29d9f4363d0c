//! The rows while the program runs, for others.

use ubp::rules::Values;

use super::rows::{Grouped, Place, Rows};
use crate::fleet::{Distribution, Labels, Roll, Scale, Snapshot};

/// The hits of all rows, those that `--top` does not print too. Their values, if `--hist` asks for them.
pub(super) fn snapshot(grouped: &Grouped<'_>, roll: &mut Roll<Place>, processes: usize, lost: u64) -> Snapshot {
    let labels = |place: &Place| {
        let (location, by) = grouped.texts(place);
        Labels::new(location, &by)
    };
    let distribution = |values: &Values| grouped.has_values().then(|| distribution(values));
    let mut round = roll.round();
    match &grouped.rows {
        Rows::All(rows) => {
            let table = rows.read();
            for (place, values) in &table.rows {
                round.add(place.clone(), || labels(place), values.count(), distribution(values));
            }
            if let Some(values) = &table.other {
                round.add_other(values.count(), distribution(values));
            }
        }
        Rows::Top(rows) => {
            for rank in rows.read() {
                round.add(rank.key.clone(), || labels(&rank.key), rank.count, None);
            }
        }
    }
    round.finish(processes, lost)
}

fn distribution(values: &Values) -> Distribution {
    let mut distribution = Distribution::new(Scale::Values);
    distribution.sum = values.sum();
    values.histogram().iter().for_each(|bucket| distribution.add(*bucket.values.end(), bucket.count));
    distribution
}
