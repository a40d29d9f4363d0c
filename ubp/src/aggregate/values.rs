//! What an aggregate keeps for one key.

use std::ops::RangeInclusive;

use crate::core::Buckets;

/// A bucket with the number of values in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The values that belong to the bucket.
    pub values: RangeInclusive<u64>,
    /// The number of values.
    pub count: u64,
}

/// The values of one key: their number, sum, least and largest, and the histogram if the aggregate has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    count: u64,
    sum: u128,
    least: u64,
    largest: u64,
    histogram: Option<(Buckets, Box<[u64]>)>,
}

impl Values {
    pub(super) fn new(buckets: Option<Buckets>) -> Values {
        let histogram = buckets.map(|buckets| (buckets, vec![0; buckets.number()].into_boxed_slice()));
        Values { count: 0, sum: 0, least: u64::MAX, largest: 0, histogram }
    }

    /// The values of which the words of `core::Sums` tell: number, sum (low word, high word), least, largest, and the histogram.
    pub(crate) fn from_words(buckets: Option<Buckets>, words: &[u64]) -> Option<Values> {
        let ([count, low, high, least, largest], counts) = words.split_first_chunk()?;
        if buckets.map_or(0, Buckets::number) != counts.len() {
            return None;
        }
        let sum = u128::from(*high) << 64 | u128::from(*low);
        let histogram = buckets.map(|buckets| (buckets, counts.into()));
        Some(Values { count: *count, sum, least: *least, largest: *largest, histogram })
    }

    /// Adds values that were summed up elsewhere.
    pub(super) fn add_all(&mut self, other: &Values) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        (self.least, self.largest) = (self.least.min(other.least), self.largest.max(other.largest));
        if let (Some((buckets, counts)), Some((others, more))) = (&mut self.histogram, &other.histogram) {
            if buckets == others {
                counts.iter_mut().zip(more).for_each(|(count, more)| *count = count.saturating_add(*more));
            }
        }
    }

    pub(super) fn add(&mut self, value: u64) {
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(value.into());
        self.least = self.least.min(value);
        self.largest = self.largest.max(value);
        if let Some((buckets, counts)) = &mut self.histogram {
            if let Some(count) = counts.get_mut(buckets.of(value)) {
                *count = count.saturating_add(1);
            }
        }
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The least value; `None` without a value.
    pub fn least(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// The largest value; `None` without a value.
    pub fn largest(&self) -> Option<u64> {
        (self.count > 0).then_some(self.largest)
    }

    /// The mean of all values, rounded down; `None` without a value.
    pub fn mean(&self) -> Option<u64> {
        let mean = self.sum.checked_div(self.count.into())?;
        u64::try_from(mean).ok()
    }

    /// The buckets from the first to the last with a value. It is empty without a histogram.
    pub fn histogram(&self) -> Vec<Bucket> {
        let Some((buckets, counts)) = &self.histogram else { return Vec::new() };
        let used = |count: &u64| *count > 0;
        let (first, last) = (counts.iter().position(used), counts.iter().rposition(used));
        let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
        let bucket = |number| {
            Some(Bucket { values: buckets.values(number)?, count: counts.get(number).copied().unwrap_or_default() })
        };
        (first..=last).filter_map(bucket).collect()
    }
}
