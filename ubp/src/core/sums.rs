//! Numbers that are summed up by key, in memory that the caller gives.

use core::ops::DerefMut;

use super::Buckets;

/// Steps of a search at most. At most half of the index is used, so that only keys that are chosen for it need more; they count as further keys.
const STEPS: usize = 128;
/// Words of a row beside its key and its histogram: number of values, sum (low word, high word), least and largest value.
const FIXED: usize = 5;
/// A number whose product with a key's word spreads over all bits (2^64 divided by the golden ratio, odd).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the rows of [`Sums`] have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Words of a key.
    pub keys: usize,
    /// The histogram of each row.
    pub buckets: Option<Buckets>,
    /// Rows at most.
    pub most: u32,
}

impl Shape {
    /// Words of a row: its key, the number of values, their sum (low word, high word), the least and the largest one, and the histogram.
    pub fn row(&self) -> usize {
        self.keys.saturating_add(FIXED).saturating_add(self.buckets.map_or(0, Buckets::number))
    }

    /// Words of the index: a power of two.
    fn index(&self) -> usize {
        (self.most as usize).saturating_mul(2).checked_next_power_of_two().unwrap_or(usize::MAX)
    }

    /// Words of all rows, of one for further keys, and of the index.
    pub fn words(&self) -> usize {
        let rows = (self.most as usize).saturating_add(1).saturating_mul(self.row());
        rows.saturating_add(self.index())
    }
}

/// Rows of numbers by key. The numbers of further keys than there are rows for go to one common row.
///
/// The memory has the common row, the rows in the order in which their keys came, and an index: a hash table with open addressing, whose words
/// are numbers of rows, counted from 1.
#[derive(Debug)]
pub struct Sums<W> {
    shape: Shape,
    /// What keys are mixed with, so that nobody can choose keys that need many steps.
    seed: u64,
    used: usize,
    words: W,
}

impl<W: DerefMut<Target = [u64]>> Sums<W> {
    /// No rows yet. `None`: `words` are fewer than [`Shape::words`].
    pub fn new(shape: Shape, seed: u64, words: W) -> Option<Sums<W>> {
        let mut sums = (words.len() >= shape.words()).then_some(Sums { shape, seed, used: 0, words })?;
        sums.words.fill(0);
        sums.begin_row(0, &[]);
        Some(sums)
    }

    /// Adds a number to the row of a key, which has [`Shape::keys`] words.
    pub fn add(&mut self, key: &[u64], number: u64) {
        let Shape { keys, buckets, .. } = self.shape;
        let row = self.find(key).unwrap_or(0);
        let Some(words) = self.row(row).and_then(|row| row.get_mut(keys..)) else { return };
        let Some(([count, low, high, least, largest], histogram)) = words.split_first_chunk_mut() else { return };
        *count = count.saturating_add(1);
        let (sum, carries) = low.overflowing_add(number);
        (*low, *high) = (sum, high.saturating_add(carries.into()));
        (*least, *largest) = ((*least).min(number), (*largest).max(number));
        let bucket = buckets.and_then(|buckets| histogram.get_mut(buckets.of(number)));
        if let Some(bucket) = bucket {
            *bucket = bucket.saturating_add(1);
        }
    }

    /// The words of all rows.
    pub fn rows(&self) -> &[u64] {
        let row = self.shape.row();
        let end = self.used.saturating_add(1).saturating_mul(row);
        self.words.get(row..end).unwrap_or_default()
    }

    /// The words of the common row without a key; empty if it has no number.
    pub fn other(&self) -> &[u64] {
        let words = self.words.get(self.shape.keys..self.shape.row()).unwrap_or_default();
        if words.first().is_some_and(|count| *count > 0) { words } else { &[] }
    }

    /// Forgets all numbers. It takes as long as there are rows, whatever the room.
    pub fn clear(&mut self) {
        let row = self.shape.row();
        for number in 1..=self.used {
            let start = number.saturating_mul(row);
            let key = self.words.get(start..start.saturating_add(self.shape.keys)).unwrap_or_default();
            let places = self.places(key);
            for place in places {
                match self.words.get_mut(place) {
                    Some(known) if *known == number as u64 => {
                        *known = 0;
                        break;
                    }
                    _ => {}
                }
            }
        }
        let used = self.used.saturating_add(1).saturating_mul(row);
        if let Some(words) = self.words.get_mut(..used) {
            words.fill(0);
        }
        self.used = 0;
        self.begin_row(0, &[]);
    }

    /// The words of a row. 0 is the common one.
    fn row(&mut self, number: usize) -> Option<&mut [u64]> {
        let row = self.shape.row();
        let start = number.saturating_mul(row);
        self.words.get_mut(start..start.saturating_add(row))
    }

    fn begin_row(&mut self, number: usize, key: &[u64]) {
        let keys = self.shape.keys;
        let Some(row) = self.row(number) else { return };
        row.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        if let Some(least) = row.get_mut(keys.saturating_add(3)) {
            *least = u64::MAX;
        }
    }

    /// The row of a key, which may be a new one. `None`: there is no room for it.
    fn find(&mut self, key: &[u64]) -> Option<usize> {
        let Shape { keys, most, .. } = self.shape;
        let row = self.shape.row();
        for place in self.places(key) {
            let known = *self.words.get(place)? as usize;
            if known == 0 {
                if self.used >= most as usize {
                    return None;
                }
                self.used = self.used.saturating_add(1);
                let new = self.used;
                if let Some(word) = self.words.get_mut(place) {
                    *word = new as u64;
                }
                self.begin_row(new, key);
                return Some(new);
            }
            let start = known.saturating_mul(row);
            if self.words.get(start..start.saturating_add(keys)) == Some(key) {
                return Some(known);
            }
        }
        None
    }

    /// The places in the index at which a key may be, in the order of the search.
    fn places(&self, key: &[u64]) -> impl Iterator<Item = usize> + use<W> {
        let index = (self.shape.most as usize).saturating_add(1).saturating_mul(self.shape.row());
        let (first, mask) = (self.hash(key), self.shape.index().wrapping_sub(1));
        // The size is a power of two.
        (0..STEPS).map(move |step| index.saturating_add(first.wrapping_add(step) & mask))
    }

    /// Multiplications carry each bit of the key up, and the shifts carry it down.
    fn hash(&self, key: &[u64]) -> usize {
        let mixed = key.iter().fold(self.seed, |mixed, word| {
            let mixed = (mixed ^ word).wrapping_mul(SPREAD);
            (mixed ^ mixed >> 32).wrapping_mul(self.seed | 1)
        });
        (mixed ^ mixed >> 29) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use super::*;

    fn sums(keys: usize, most: u32, buckets: Option<Buckets>) -> Sums<Vec<u64>> {
        let shape = Shape { keys, buckets, most };
        assert!(Sums::new(shape, 1, vec![0; shape.words() - 1]).is_none());
        Sums::new(shape, 0x1234_5678_9abc_def1, vec![7; shape.words()]).expect("there is room")
    }

    #[test]
    fn rows_are_those_of_a_map_and_what_has_no_room_is_in_the_common_one() {
        for most in [1, 10, 64, 1000] {
            let mut sums = sums(2, most, None);
            let (mut model, mut other) = (BTreeMap::<[u64; 2], Vec<u64>>::new(), Vec::new());
            for number in 0..5000_u64 {
                // Keys whose low or high bits alone differ.
                let key = [number % 7, (number % 30) << 58];
                let is_there = model.contains_key(&key) || model.len() < most as usize;
                if is_there {
                    model.entry(key).or_default().push(number)
                } else {
                    other.push(number)
                }
                sums.add(&key, number);
            }
            let expected = |numbers: &[u64]| -> Vec<u64> {
                let (least, largest) = (numbers.iter().min(), numbers.iter().max());
                vec![numbers.len() as u64, numbers.iter().sum(), 0, *least.unwrap(), *largest.unwrap()]
            };
            let mut rows: Vec<&[u64]> = sums.rows().chunks(7).collect();
            rows.sort();
            let all: Vec<Vec<u64>> =
                model.iter().map(|(key, numbers)| [&key[..], &expected(numbers)].concat()).collect();
            assert_eq!(rows, all);
            let common = if other.is_empty() { Vec::new() } else { expected(&other) };
            assert_eq!(sums.other(), common);
        }
    }

    #[test]
    fn a_sum_carries_and_a_histogram_has_each_number() {
        let mut sums = sums(0, 1, Some(Buckets::Log2));
        for number in [u64::MAX, u64::MAX, 0, 5, 6] {
            sums.add(&[], number);
        }
        let row = sums.rows();
        assert_eq!(&row[..5], [5, 9, 2, 0, u64::MAX]);
        assert_eq!((row[5], row[5 + 3], row[5 + 64], row.len()), (1, 2, 2, 5 + 65));
        assert!(sums.other().is_empty());
    }

    #[test]
    fn what_is_cleared_begins_anew() {
        let mut sums = sums(1, 3, None);
        for round in 1..4 {
            (0..5).for_each(|key| sums.add(&[key], round));
            assert_eq!((sums.rows().len() / 6, sums.other().first()), (3, Some(&2)));
            assert!(sums.rows().chunks(6).all(|row| row[1..] == [1, round, 0, round, round]));
            sums.clear();
            assert_eq!((sums.rows(), sums.other()), (&[][..], &[][..]));
            let begin = [[0, 0, 0, 0, u64::MAX, 0], [0; 6], [0; 6], [0; 6]].concat();
            assert_eq!((&sums.words[..24], &sums.words[24..]), (&begin[..], &[0; 8][..]));
        }
    }
}
