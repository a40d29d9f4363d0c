//! A snapshot: all counts of a run at one point in time.

use std::sync::Arc;
use std::time::SystemTime;

use crate::output::escaped;

/// The most characters of a label. The program's author chooses names, and a name may have 64 KiB.
const LONGEST: usize = 512;

/// What was counted up to a moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The moment, by the host's clock.
    pub(crate) time: SystemTime,
    /// The number of traced processes.
    pub(crate) processes: usize,
    /// The hits that are in no series: those that were not recorded, and calls whose return cannot be seen.
    pub(crate) lost: u64,
    /// What the distributions have. `None`: there are hits alone.
    pub(crate) scale: Option<Scale>,
    /// The numbers of each location and row.
    pub(crate) series: Vec<Series>,
}

/// The numbers of one location and row. None of them ever decreases.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) labels: Arc<Labels>,
    pub(crate) hits: u64,
    pub(crate) distribution: Option<Distribution>,
}

/// What tells a series from the others of a host. The texts have no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Labels {
    /// The location, in a form that `-b` accepts unless it is very long.
    pub(crate) location: String,
    /// What the row is for beside its location, or nothing.
    pub(crate) by: String,
}

/// How values are divided into buckets. Every host divides them alike, so that histograms of several hosts can be summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Nanoseconds, by powers of two from a microsecond to a minute.
    Durations,
    /// Numbers of 64 bits, by powers of four.
    Values,
}

/// A histogram of values.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    pub(crate) scale: Scale,
    /// The sum of the values; of durations, in nanoseconds.
    pub(crate) sum: u128,
    /// The number of values in each bucket. The last is for values above all bounds.
    pub(crate) counts: Vec<u64>,
}

impl Labels {
    pub(crate) fn new(location: &str, by: &str) -> Labels {
        let label = |text: &str| {
            let text = escaped(text);
            match text.char_indices().nth(LONGEST) {
                Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
                None => text,
            }
        };
        Labels { location: label(location), by: label(by) }
    }
}

impl Scale {
    /// The numbers of bits that the values of each bucket have at most, but of the last bucket.
    fn widths(self) -> impl Iterator<Item = u32> {
        let (first, last, step) = match self {
            Scale::Durations => (10, 36, 1),
            Scale::Values => (0, 62, 2),
        };
        (first..=last).step_by(step)
    }

    /// The largest value of each bucket but the last; of durations, in seconds. A bucket ends below a power of two, since integers do.
    pub(crate) fn bounds(self) -> Vec<f64> {
        self.widths().map(|width| self.scaled(((1_u64 << width) - 1).into())).collect()
    }

    /// A number of the distribution in the unit of its metric.
    fn scaled(self, value: u128) -> f64 {
        match self {
            // One division rounds to the number that is nearest.
            Scale::Durations => value as f64 / 1e9,
            Scale::Values => value as f64,
        }
    }
}

impl Distribution {
    pub(crate) fn new(scale: Scale) -> Distribution {
        Distribution { scale, sum: 0, counts: vec![0; scale.widths().count() + 1] }
    }

    /// Adds `count` values from one power of two to the next, of which `largest` is the largest that is possible.
    pub(crate) fn add(&mut self, largest: u64, count: u64) {
        let bits = u64::BITS - largest.leading_zeros();
        let above = self.counts.len() - 1;
        let bucket = self.scale.widths().position(|width| bits <= width).unwrap_or(above);
        self.counts[bucket] = self.counts[bucket].saturating_add(count);
    }

    /// Adds the values of another distribution of the same scale.
    pub(crate) fn merge(&mut self, other: &Distribution) {
        self.sum = self.sum.saturating_add(other.sum);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
    }

    /// The number of values.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().copied().fold(0, u64::saturating_add)
    }

    /// The sum in the unit of the metric.
    pub(crate) fn total(&self) -> f64 {
        self.scale.scaled(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_the_first_bucket_whose_bound_is_not_below_it() {
        for scale in [Scale::Durations, Scale::Values] {
            let bounds = scale.bounds();
            // Each power of two is the first value of its bucket, the number below it the last of the one before.
            for value in (0..63).flat_map(|log| [(1_u64 << log) - 1, (2_u64 << log) - 1]).chain([u64::MAX]) {
                let mut distribution = Distribution::new(scale);
                distribution.add(value, 3);
                let bucket = distribution.counts.iter().position(|count| *count == 3);
                let expected = bounds.iter().position(|bound| scale.scaled(value.into()) <= *bound);
                assert_eq!(bucket, Some(expected.unwrap_or(bounds.len())), "{value} {scale:?}");
            }
        }
    }

    #[test]
    fn durations_are_divided_from_a_microsecond_to_a_minute() {
        let bounds = Scale::Durations.bounds();
        assert_eq!((bounds.len(), bounds[0], bounds[26]), (27, 0.000_001_023, 68.719_476_735));
    }

    #[test]
    fn a_label_is_short_and_has_no_control_characters() {
        let labels = Labels::new(&"x".repeat(100_000), "from a\x1b[31mb");
        assert_eq!(labels.location.chars().count(), LONGEST + 1);
        assert!(!labels.by.contains('\x1b') && labels.by.starts_with("from a"), "{}", labels.by);
    }
}
