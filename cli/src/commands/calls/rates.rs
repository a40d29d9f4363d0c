//! How many calls return in a second, for each process and location.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use ubp::Pid;

/// The time for which calls are counted together.
const WINDOW: Duration = Duration::from_millis(100);

/// Counts calls in one window of time after the other.
#[derive(Default)]
pub(super) struct Rates(HashMap<Pid, Window>);

struct Window {
    number: u32,
    /// The calls of each location that was seen in the process so far.
    calls: BTreeMap<String, u32>,
}

/// The rates of a process from a time on until the next of the process.
#[derive(Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) pid: Pid,
    pub(super) from: Duration,
    /// Calls a second, by location.
    pub(super) calls: BTreeMap<String, f64>,
}

impl Rates {
    /// Counts a call that returned at a time, and returns the rates of the windows that are over.
    pub(super) fn add(&mut self, pid: Pid, time: Duration, location: &str) -> Vec<Rate> {
        let number = u32::try_from(time.as_millis() / WINDOW.as_millis()).unwrap_or(u32::MAX);
        let window = self.0.entry(pid).or_insert_with(|| Window { number, calls: BTreeMap::new() });
        // Calls of threads whose reports come late count for the present window.
        let over = if number > window.number { window.end(pid, number) } else { Vec::new() };
        match window.calls.get_mut(location) {
            Some(calls) => *calls += 1,
            None => {
                window.calls.insert(location.to_string(), 1);
            }
        }
        over
    }

    /// The rates of the windows that have not ended, and zeros behind them.
    pub(super) fn finish(&mut self) -> Vec<Rate> {
        let mut all: Vec<(Pid, Window)> = self.0.drain().collect();
        all.sort_by_key(|(pid, _)| *pid);
        all.into_iter().flat_map(|(pid, mut window)| window.end(pid, u32::MAX)).collect()
    }
}

impl Window {
    /// The rates of this window, and zeros for those between it and the window `next`, which begins.
    fn end(&mut self, pid: Pid, next: u32) -> Vec<Rate> {
        let mut over = vec![self.rate(pid)];
        self.calls.values_mut().for_each(|calls| *calls = 0);
        self.number = self.number.saturating_add(1);
        if next > self.number {
            over.push(self.rate(pid));
        }
        self.number = next;
        over
    }

    fn rate(&self, pid: Pid) -> Rate {
        let a_second = |calls: &u32| f64::from(*calls) / WINDOW.as_secs_f64();
        let calls = self.calls.iter().map(|(location, calls)| (location.clone(), a_second(calls))).collect();
        Rate { pid, from: WINDOW * self.number, calls }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_has_its_rate_and_the_time_without_calls_has_zeros() {
        let (pid, mut rates) = (Pid(7), Rates::default());
        let mut all = Vec::new();
        for (time, location) in [(10, "a"), (20, "a"), (30, "b"), (150, "a"), (720, "b")] {
            all.extend(rates.add(pid, Duration::from_millis(time), location));
        }
        all.extend(rates.finish());
        let shown: Vec<(u128, f64, f64)> =
            all.iter().map(|rate| (rate.from.as_millis(), rate.calls["a"].round(), rate.calls["b"].round())).collect();
        assert_eq!(shown, [(0, 20.0, 10.0), (100, 10.0, 0.0), (200, 0.0, 0.0), (700, 0.0, 10.0), (800, 0.0, 0.0)]);
        assert!(rates.finish().is_empty());
    }
}
