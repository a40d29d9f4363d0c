//! Aggregates: values that are summed up by key, in bounded memory.

mod values;

use std::collections::BTreeMap;

pub use self::values::{Bucket, Values};
use crate::core::Buckets;

/// Values that are summed up by key: their number, sum, least and largest, and a histogram if asked for.
///
/// It keeps the values of a bounded number of keys. The values of further keys go to one common row ([`Table::other`]), so that no value is
/// lost in the total.
///
/// ```
/// use ubp::core::Buckets;
/// use ubp::rules::Aggregate;
///
/// let mut sizes = Aggregate::new(1024).with_histogram(Buckets::Log2);
/// for (thread, size) in [(7, 64), (7, 100), (8, 5)] {
///     sizes.add(thread, size);
/// }
/// let table = sizes.take();
/// let (thread, values) = &table.rows[0];
/// assert_eq!((*thread, values.count(), values.sum(), values.largest()), (7, 2, 164, Some(100)));
/// assert_eq!(table.other, None);
/// assert!(sizes.read().rows.is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Aggregate<K> {
    most: usize,
    buckets: Option<Buckets>,
    rows: BTreeMap<K, Values>,
    other: Option<Values>,
}

/// What an aggregate holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<K> {
    /// The values of each key, by key.
    pub rows: Vec<(K, Values)>,
    /// The values of all keys that came when the aggregate had as many keys as it may have; `None` if there were none.
    pub other: Option<Values>,
}

impl<K: Ord + Clone> Aggregate<K> {
    /// An aggregate of at most `most` keys.
    pub fn new(most: usize) -> Aggregate<K> {
        Aggregate { most, buckets: None, rows: BTreeMap::new(), other: None }
    }

    /// The aggregate with a histogram for each key.
    pub fn with_histogram(self, buckets: Buckets) -> Aggregate<K> {
        Aggregate { buckets: Some(buckets), ..self }
    }

    /// Adds a value.
    pub fn add(&mut self, key: K, value: u64) {
        self.values(key).add(value);
    }

    /// Adds values that were summed up elsewhere. Their histogram is added where it has the same buckets.
    pub fn add_all(&mut self, key: K, values: &Values) {
        self.values(key).add_all(values);
    }

    /// Adds values of further keys.
    pub fn add_others(&mut self, values: &Values) {
        self.other.get_or_insert_with(|| Values::new(self.buckets)).add_all(values);
    }

    /// The values to which those of a key are added.
    fn values(&mut self, key: K) -> &mut Values {
        let new = || Values::new(self.buckets);
        if self.rows.len() < self.most || self.rows.contains_key(&key) {
            self.rows.entry(key).or_insert_with(new)
        } else {
            self.other.get_or_insert_with(new)
        }
    }

    /// What the aggregate holds.
    pub fn read(&self) -> Table<K> {
        let rows = self.rows.iter().map(|(key, values)| (key.clone(), values.clone())).collect();
        Table { rows, other: self.other.clone() }
    }

    /// As [`Aggregate::read`], and forgets all values: each is in one table.
    pub fn take(&mut self) -> Table<K> {
        Table { rows: std::mem::take(&mut self.rows).into_iter().collect(), other: self.other.take() }
    }
}

impl<K> Table<K> {
    /// The number of all values, of all keys.
    pub fn total(&self) -> u64 {
        let rows = self.rows.iter().map(|(_, values)| values.count());
        rows.chain(self.other.as_ref().map(Values::count)).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_exact_below_the_bound_and_keeps_the_total_above() {
        for most in [1000, 100, 10, 1, 0] {
            let mut aggregate = Aggregate::new(most);
            (0..1000_u64).for_each(|value| aggregate.add(value % 100, value));
            let table = aggregate.read();
            assert_eq!(table.rows.len(), most.min(100));
            assert_eq!(table.total(), 1000);
            for (key, values) in &table.rows {
                let expected = (10, (0..10).map(|round| u128::from(key + 100 * round)).sum());
                assert_eq!((values.count(), values.sum()), expected);
                let (least, largest, mean) = (values.least(), values.largest(), values.mean());
                assert_eq!((least, largest, mean), (Some(*key), Some(key + 900), Some(key + 450)));
            }
            let other = table.other.as_ref().map_or(0, Values::sum);
            let rows: u128 = table.rows.iter().map(|(_, values)| values.sum()).sum();
            assert_eq!(rows + other, (0..1000).sum::<u128>());
            assert_eq!(table.other.is_none(), most >= 100);
        }
    }

    #[test]
    fn what_was_summed_up_elsewhere_is_as_if_it_had_been_summed_up_here() {
        let new = || Aggregate::new(2).with_histogram(Buckets::Log2);
        let (mut whole, mut parts) = (new(), [new(), new()]);
        for value in 0..40_u64 {
            whole.add(value % 4, value);
            parts[usize::from(value >= 25)].add(value % 4, value);
        }
        let [mut first, second] = parts;
        let table = second.read();
        table.rows.iter().for_each(|(key, values)| first.add_all(*key, values));
        table.other.iter().for_each(|values| first.add_others(values));
        // The second part had other keys than the first when it was full.
        let total = |table: &Table<u64>| {
            let all = table.rows.iter().map(|(_, values)| values).chain(&table.other);
            all.fold((0, 0, u64::MAX, 0), |(count, sum, least, largest), values| {
                let (low, high) = (values.least().unwrap(), values.largest().unwrap());
                (count + values.count(), sum + values.sum(), least.min(low), largest.max(high))
            })
        };
        assert_eq!(total(&first.read()), total(&whole.read()));
        let histogram = |table: Table<u64>| -> u64 {
            let all = table.rows.into_iter().map(|(_, values)| values).chain(table.other);
            all.flat_map(|values| values.histogram()).map(|bucket| bucket.count).sum()
        };
        assert_eq!((histogram(first.read()), histogram(whole.read())), (40, 40));
    }

    #[test]
    fn each_value_is_in_one_table() {
        let mut aggregate = Aggregate::new(1);
        aggregate.add("a", 1);
        aggregate.add("b", 2);
        let first = aggregate.take();
        aggregate.add("b", 3);
        let second = aggregate.take();
        assert_eq!((first.total(), second.total(), aggregate.take().total()), (2, 1, 0));
        assert_eq!((second.rows.len(), second.other), (1, None));
    }

    #[test]
    fn a_histogram_has_every_value_once() {
        let mut aggregate = Aggregate::new(1).with_histogram(Buckets::Log2);
        [0, 1, 5, 7, 40].into_iter().for_each(|value| aggregate.add((), value));
        let table = aggregate.read();
        let buckets = table.rows[0].1.histogram();
        let counts: Vec<_> = buckets.iter().map(|b| (*b.values.start(), *b.values.end(), b.count)).collect();
        assert_eq!(counts, [(0, 0, 1), (1, 1, 1), (2, 3, 0), (4, 7, 2), (8, 15, 0), (16, 31, 0), (32, 63, 1)]);
        assert!(Aggregate::<()>::new(1).read().rows.is_empty());
    }
}
