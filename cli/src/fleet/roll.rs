//! The series of a run.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::SystemTime;

use super::snapshot::{Distribution, Labels, Scale, Series, Snapshot};

/// The most series of a host. What keeps the numbers of many hosts pays for each series of each host.
const MOST: usize = 10_000;
/// The location of the series that all others share.
const OTHER: &str = "other";

/// The series of a run. A key has its series for good: keys that come when there are as many series as there may be share one. Keys with equal
/// labels share theirs.
pub(crate) struct Roll<K> {
    most: usize,
    scale: Option<Scale>,
    numbers: HashMap<K, usize>,
    by_labels: HashMap<Arc<Labels>, usize>,
    /// The labels of each series, and the hits that were told last.
    series: Vec<(Arc<Labels>, u64)>,
    other: Option<usize>,
}

/// A snapshot in the making.
pub(crate) struct Round<'a, K> {
    roll: &'a mut Roll<K>,
    hits: Vec<u64>,
    distributions: Vec<Option<Distribution>>,
}

impl<K: Eq + Hash> Roll<K> {
    /// No series yet. `scale`: what distributions have.
    pub(crate) fn new(scale: Option<Scale>) -> Roll<K> {
        let (numbers, by_labels, series) = (HashMap::new(), HashMap::new(), Vec::new());
        Roll { most: MOST, scale, numbers, by_labels, series, other: None }
    }

    /// Begins a snapshot.
    pub(crate) fn round(&mut self) -> Round<'_, K> {
        let count = self.series.len();
        Round { roll: self, hits: vec![0; count], distributions: vec![None; count] }
    }

    /// The number of a key's series. `labels` makes those of a new one.
    fn number(&mut self, key: K, labels: impl FnOnce() -> Labels) -> usize {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let labels = Arc::new(labels());
        let number = match self.by_labels.get(&labels) {
            Some(number) => *number,
            None if self.by_labels.len() >= self.most => self.other(),
            None => {
                self.series.push((Arc::clone(&labels), 0));
                self.by_labels.insert(labels, self.series.len() - 1);
                self.series.len() - 1
            }
        };
        self.numbers.insert(key, number);
        number
    }

    fn other(&mut self) -> usize {
        *self.other.get_or_insert_with(|| {
            self.series.push((Arc::new(Labels::new(OTHER, "")), 0));
            self.series.len() - 1
        })
    }
}

impl<K: Eq + Hash> Round<'_, K> {
    /// Adds the numbers of a key.
    pub(crate) fn add(
        &mut self,
        key: K,
        labels: impl FnOnce() -> Labels,
        hits: u64,
        distribution: Option<Distribution>,
    ) {
        let number = self.roll.number(key, labels);
        self.add_to(number, hits, distribution);
    }

    /// Adds numbers that belong to no single key.
    pub(crate) fn add_other(&mut self, hits: u64, distribution: Option<Distribution>) {
        let number = self.roll.other();
        self.add_to(number, hits, distribution);
    }

    fn add_to(&mut self, number: usize, hits: u64, distribution: Option<Distribution>) {
        if number >= self.hits.len() {
            self.hits.resize(number + 1, 0);
            self.distributions.resize(number + 1, None);
        }
        self.hits[number] = self.hits[number].saturating_add(hits);
        match (&mut self.distributions[number], distribution) {
            (Some(sum), Some(distribution)) => sum.merge(&distribution),
            (none, distribution) => *none = none.take().or(distribution),
        }
    }

    /// The snapshot.
    pub(crate) fn finish(self, processes: usize, lost: u64) -> Snapshot {
        let Round { roll, hits, distributions } = self;
        let scale = roll.scale;
        let numbers = hits.into_iter().zip(distributions);
        let series = roll.series.iter_mut().zip(numbers).map(|((labels, told), (hits, distribution))| {
            // A breakpoint that is gone with its module has no hits any more.
            *told = hits.max(*told);
            let distribution = distribution.or(scale.map(Distribution::new));
            Series { labels: Arc::clone(labels), hits: *told, distribution }
        });
        Snapshot { time: SystemTime::now(), processes, lost, scale, series: series.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hits of each series of a snapshot with these keys.
    fn hits(roll: &mut Roll<u32>, keys: &[(u32, u64)]) -> Vec<(String, u64)> {
        let mut round = roll.round();
        for (key, hits) in keys {
            round.add(*key, || Labels::new(&format!("f{}", key % 100), ""), *hits, None);
        }
        let series = round.finish(1, 0).series;
        series.into_iter().map(|series| (series.labels.location.clone(), series.hits)).collect()
    }

    fn told(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected.iter().map(|(location, hits)| (location.to_string(), *hits)).collect()
    }

    #[test]
    fn keys_beyond_the_bound_share_a_series_and_the_sum_of_all_is_exact() {
        let mut roll = Roll { most: 2, ..Roll::new(None) };
        assert_eq!(hits(&mut roll, &[(1, 10)]), told(&[("f1", 10)]));
        assert_eq!(hits(&mut roll, &[(3, 7), (2, 5), (1, 11), (4, 1)]), told(&[("f1", 11), ("f3", 7), ("other", 6)]));
        assert_eq!(hits(&mut roll, &[(1, 11), (2, 6), (3, 7), (4, 1)]), told(&[("f1", 11), ("f3", 7), ("other", 7)]));
    }

    #[test]
    fn keys_with_equal_labels_share_a_series() {
        let mut roll = Roll::new(None);
        assert_eq!(hits(&mut roll, &[(1, 10), (101, 5), (2, 1)]), told(&[("f1", 15), ("f2", 1)]));
    }

    #[test]
    fn hits_never_decrease() {
        let mut roll = Roll::new(None);
        hits(&mut roll, &[(1, 10), (2, 3)]);
        assert_eq!(hits(&mut roll, &[(1, 4)]), told(&[("f1", 10), ("f2", 3)]));
    }

    #[test]
    fn distributions_of_one_series_are_summed() {
        let mut roll = Roll::new(Some(Scale::Values));
        let mut round = roll.round();
        for (key, value) in [(1, 7), (101, 7), (2, 100)] {
            let mut distribution = Distribution::new(Scale::Values);
            distribution.add(value, 2);
            distribution.sum = 2 * u128::from(value);
            round.add(key, || Labels::new(&format!("f{}", key % 100), ""), 2, Some(distribution));
        }
        let series = round.finish(1, 0).series;
        let counts: Vec<_> = series.iter().filter_map(|series| series.distribution.as_ref()).collect();
        assert_eq!((counts[0].count(), counts[0].sum), (4, 28));
        assert_eq!((counts[1].count(), counts[1].sum), (2, 200));
    }
}
