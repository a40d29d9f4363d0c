//! The locations of the view with their hits, and what the user wants to see of them.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::feed::Snapshot;
use super::keys::Key;

/// The number of past rates that are kept of each location.
pub(super) const PAST: usize = 20;
/// The shortest interval of a rate in seconds. The first snapshot comes earlier.
const SHORTEST: f64 = 0.25;
/// The number of lines that PgUp and PgDn scroll.
const PAGE: usize = 10;

/// A location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) location: String,
    pub(super) hits: u64,
    /// Hits a second.
    pub(super) rate: u64,
    /// The rates until now, the last one last.
    pub(super) past: VecDeque<u64>,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Rate,
    Hits,
    Location,
}

/// All rows.
#[derive(Clone, Debug)]
pub(super) struct Table {
    rows: Vec<Row>,
    /// Seconds since the start.
    pub(super) time: f64,
    pub(super) processes: usize,
    pub(super) sort: Sort,
    pub(super) filter: String,
    /// Whether the user types the filter.
    pub(super) is_typing: bool,
    /// The number of rows above the first that is shown.
    pub(super) above: usize,
    /// The rows and the time of the view while the user pauses it.
    paused: Option<(Vec<Row>, f64)>,
}

impl Default for Table {
    fn default() -> Table {
        let (rows, filter) = (Vec::new(), String::new());
        Table { rows, time: 0.0, processes: 0, sort: Sort::Rate, filter, is_typing: false, above: 0, paused: None }
    }
}

impl Table {
    /// Takes the state of the tracer.
    pub(super) fn update(&mut self, snapshot: Snapshot) {
        let elapsed = (snapshot.time - self.time).max(SHORTEST);
        let rate = |hits: u64| (hits as f64 / elapsed).round() as u64;
        for location in snapshot.new {
            self.rows.push(Row { location, hits: 0, rate: 0, past: VecDeque::new() });
        }
        let mut added = vec![0; self.rows.len()];
        for (number, hits) in snapshot.hits {
            if let (Some(row), Some(added)) = (self.rows.get_mut(number), added.get_mut(number)) {
                *added = hits.saturating_sub(row.hits);
                row.hits = hits;
            }
        }
        for (row, added) in self.rows.iter_mut().zip(added) {
            row.rate = rate(added);
            row.past.push_back(row.rate);
            if row.past.len() > PAST {
                row.past.pop_front();
            }
        }
        (self.time, self.processes) = (snapshot.time, snapshot.processes);
    }

    /// Does what a key asks for. Returns `false` if the user wants to leave.
    pub(super) fn press(&mut self, key: Key) -> bool {
        match key {
            Key::Interrupt => return false,
            _ if self.is_typing => self.type_filter(key),
            Key::Letter('q') => return false,
            Key::Letter('r') => self.sort = Sort::Rate,
            Key::Letter('h') => self.sort = Sort::Hits,
            Key::Letter('l') => self.sort = Sort::Location,
            Key::Letter('/') => self.is_typing = true,
            Key::Letter('p' | ' ') => {
                self.paused = match self.paused {
                    Some(_) => None,
                    None => Some((self.rows.clone(), self.time)),
                }
            }
            Key::Up => self.above = self.above.saturating_sub(1),
            Key::Down => self.above = self.above.saturating_add(1),
            Key::PageUp => self.above = self.above.saturating_sub(PAGE),
            Key::PageDown => self.above = self.above.saturating_add(PAGE),
            Key::Home => self.above = 0,
            Key::Escape => self.filter.clear(),
            Key::Letter(_) | Key::Enter | Key::Backspace => {}
        }
        true
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Letter(letter) => self.filter.push(letter),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => {}
        }
        self.above = 0;
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// The sum of hits and of hits a second, of all rows, and the seconds since the start.
    pub(super) fn totals(&self) -> (u64, u64, f64) {
        let (rows, time) = self.shown();
        (rows.iter().map(|row| row.hits).sum(), rows.iter().map(|row| row.rate).sum(), time)
    }

    /// The rows that are wanted, in order.
    pub(super) fn wanted(&self) -> Vec<&Row> {
        let filter = self.filter.to_lowercase();
        let mut rows: Vec<&Row> =
            self.shown().0.iter().filter(|row| row.location.to_lowercase().contains(&filter)).collect();
        match self.sort {
            Sort::Rate => rows.sort_by_key(|row| (Reverse(row.rate), Reverse(row.hits), &row.location)),
            Sort::Hits => rows.sort_by_key(|row| (Reverse(row.hits), &row.location)),
            Sort::Location => rows.sort_by_key(|row| &row.location),
        }
        rows
    }

    fn shown(&self) -> (&[Row], f64) {
        self.paused.as_ref().map_or((&self.rows, self.time), |(rows, time)| (rows, *time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        let new = ["prog!b", "prog!a", "libc!c"].map(String::from).to_vec();
        table.update(Snapshot { time: 1.0, processes: 1, new, hits: vec![(0, 10), (1, 30), (2, 20)] });
        table.update(Snapshot { time: 3.0, processes: 1, new: Vec::new(), hits: vec![(0, 50), (2, 21)] });
        table
    }

    fn names(table: &Table) -> Vec<&str> {
        table.wanted().into_iter().map(|row| row.location.as_str()).collect()
    }

    #[test]
    fn a_rate_is_that_of_the_last_interval() {
        let table = table();
        let rows = table.wanted();
        let rates: Vec<_> = rows.iter().map(|row| (row.location.as_str(), row.hits, row.rate)).collect();
        assert_eq!(rates, [("prog!b", 50, 20), ("libc!c", 21, 1), ("prog!a", 30, 0)]);
        assert_eq!(rows[0].past, [10, 20]);
        assert_eq!(table.totals(), (101, 21, 3.0));
    }

    #[test]
    fn keys_sort_filter_and_pause() {
        let mut table = table();
        let mut press = |keys: &str| keys.chars().all(|letter| table.press(Key::Letter(letter)));
        assert!(press("h"));
        assert_eq!(names(&table), ["prog!b", "prog!a", "libc!c"]);
        table.press(Key::Letter('l'));
        assert_eq!(names(&table), ["libc!c", "prog!a", "prog!b"]);
        // A filter may have letters that are keys elsewhere.
        for key in [Key::Letter('/'), Key::Letter('P'), Key::Letter('q'), Key::Backspace, Key::Enter] {
            assert!(table.press(key));
        }
        assert_eq!(names(&table), ["prog!a", "prog!b"]);
        table.press(Key::Letter('p'));
        table.update(Snapshot { time: 4.0, processes: 1, new: Vec::new(), hits: vec![(1, 99)] });
        assert_eq!((table.totals(), table.is_paused()), ((101, 21, 3.0), true));
        table.press(Key::Letter(' '));
        assert_eq!((table.totals(), table.is_paused()), ((170, 69, 4.0), false));
        table.press(Key::Escape);
        assert_eq!(names(&table).len(), 3);
        assert!(!table.press(Key::Letter('q')) && !table.press(Key::Interrupt));
    }
}
