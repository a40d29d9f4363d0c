//! The most frequent keys of a stream, in bounded memory (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k
//! elements in data streams, 2005).

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// The most frequent keys of a stream. It counts as many keys as it has places; a new key takes the place of the least frequent one, with its
/// count.
///
/// The counts of all keys together are the number of keys that were added. A count is at most [`Ranked::error`] too large, and never too
/// small. A key that was added more often than all additions divided by the number of places has a place.
#[derive(Clone, Debug)]
pub struct Top<K> {
    places: usize,
    counts: HashMap<K, Count>,
    /// The keys by their counts; of equal counts the key that has had its place for longer first.
    order: BTreeSet<(u64, u64, K)>,
    /// The number of places that were taken so far.
    taken: u64,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    count: u64,
    error: u64,
    /// The number of the taking of the place.
    taken: u64,
}

/// A key with its count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked<K> {
    /// The key.
    pub key: K,
    /// How often it was added, or at most [`Ranked::error`] more.
    pub count: u64,
    /// How much too large the count may be; 0 if it is exact.
    pub error: u64,
}

impl<K: Clone + Ord + Hash> Top<K> {
    /// Counts in this number of places, at least one.
    pub fn new(places: usize) -> Top<K> {
        Top { places: places.max(1), counts: HashMap::new(), order: BTreeSet::new(), taken: 0 }
    }

    /// Adds a key.
    pub fn add(&mut self, key: K) {
        let before = self.counts.get(&key).copied();
        let next = match before {
            Some(known) => {
                self.order.remove(&(known.count, known.taken, key.clone()));
                Count { count: known.count.saturating_add(1), ..known }
            }
            None => {
                let error = if self.counts.len() < self.places { 0 } else { self.free_place() };
                self.taken += 1;
                Count { count: error.saturating_add(1), error, taken: self.taken }
            }
        };
        self.order.insert((next.count, next.taken, key.clone()));
        self.counts.insert(key, next);
    }

    /// Takes the place of the least frequent key from it, and returns its count.
    fn free_place(&mut self) -> u64 {
        let Some((count, _, key)) = self.order.pop_first() else { return 0 };
        self.counts.remove(&key);
        count
    }

    /// The keys, the most frequent first.
    pub fn read(&self) -> Vec<Ranked<K>> {
        let ranked = |(count, _, key): &(u64, u64, K)| {
            let error = self.counts.get(key).map_or(0, |known| known.error);
            Ranked { key: key.clone(), count: *count, error }
        };
        self.order.iter().rev().map(ranked).collect()
    }

    /// As [`Top::read`], and forgets all keys.
    pub fn take(&mut self) -> Vec<Ranked<K>> {
        let ranked = self.read();
        *self = Top::new(self.places);
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream in which the key `k` is added `200 / k` times, in an order without pattern.
    fn stream() -> Vec<u64> {
        let mut stream: Vec<u64> = (1..=200).flat_map(|key| vec![key; 200 / key as usize]).collect();
        let mut state = 7_u64;
        for at in (1..stream.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            stream.swap(at, (state >> 33) as usize % (at + 1));
        }
        stream
    }

    #[test]
    fn counts_are_exact_while_there_are_places() {
        let mut top = Top::new(200);
        stream().into_iter().for_each(|key| top.add(key));
        let ranked = top.read();
        assert_eq!(ranked.len(), 200);
        assert!(ranked.iter().all(|rank| rank.error == 0 && rank.count == 200 / rank.key), "{ranked:?}");
        assert_eq!(ranked[0].key, 1);
    }

    #[test]
    fn without_a_place_for_every_key_the_total_stays_and_errors_are_told() {
        let stream = stream();
        let mut top = Top::new(20);
        stream.iter().for_each(|key| top.add(*key));
        let ranked = top.read();
        assert_eq!(ranked.iter().map(|rank| rank.count).sum::<u64>(), stream.len() as u64);
        for rank in &ranked {
            let exact = 200 / rank.key;
            assert!(rank.count >= exact && rank.count - rank.error <= exact, "{rank:?}");
        }
        let frequent = (1..=200).filter(|key| 200 / key > stream.len() as u64 / 20);
        for key in frequent {
            assert!(ranked.iter().any(|rank| rank.key == key), "{key}");
        }
    }

    #[test]
    fn after_it_is_taken_the_next_counts_begin_at_zero() {
        let mut top = Top::new(0);
        top.add("a");
        assert_eq!(top.take(), [Ranked { key: "a", count: 1, error: 0 }]);
        top.add("b");
        assert_eq!(top.take(), [Ranked { key: "b", count: 1, error: 0 }]);
        assert_eq!(top.take(), []);
    }
}
