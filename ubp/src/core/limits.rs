//! Limits: which of the occurrences that pass a filter a rule acts on.

use core::time::Duration;

/// Which of the occurrences that its filter takes a rule acts on. They are numbered from 1 on, for all threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The number of first occurrences on which the rule does not act.
    pub skip: u64,
    /// Of the occurrences after those, the rule acts on the first and then on each `every`-th; 1 or 0: on each.
    pub every: u64,
    /// The most occurrences on which the rule acts; `None` is no limit.
    pub most: Option<u64>,
    /// The most occurrences on which it acts within a time. A new time begins with the first occurrence after the last one.
    pub rate: Option<(u64, Duration)>,
}

impl Default for Limits {
    /// No limits.
    fn default() -> Limits {
        Limits { skip: 0, every: 1, most: None, rate: None }
    }
}

/// What a rule has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    occurrences: u64,
    acted: u64,
    /// The begin of the time of the rate in nanoseconds, and the occurrences in it.
    since: Option<u128>,
    within: u64,
}

impl Limits {
    /// Notes an occurrence, and returns whether the rule acts on it.
    pub fn admit(&self, seen: &mut Seen, time: Duration) -> bool {
        seen.occurrences = seen.occurrences.saturating_add(1);
        let Some(number) = seen.occurrences.checked_sub(self.skip.saturating_add(1)) else { return false };
        let is_sampled = number.checked_rem(self.every).unwrap_or(0) == 0;
        if !is_sampled || self.most.is_some_and(|most| seen.acted >= most) {
            return false;
        }
        if let Some((most, period)) = self.rate {
            // Differences of durations may panic.
            let now = time.as_nanos();
            if seen.since.is_none_or(|since| now.saturating_sub(since) >= period.as_nanos()) {
                (seen.since, seen.within) = (Some(now), 0);
            }
            if seen.within >= most {
                return false;
            }
            seen.within = seen.within.saturating_add(1);
        }
        seen.acted = seen.acted.saturating_add(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(limits: Limits, seconds: &[u64]) -> Vec<usize> {
        let mut seen = Seen::default();
        let mut admitted = Vec::new();
        for (number, second) in seconds.iter().enumerate() {
            if limits.admit(&mut seen, Duration::from_secs(*second)) {
                admitted.push(number + 1);
            }
        }
        admitted
    }

    #[test]
    fn occurrences_are_skipped_sampled_and_bounded_in_this_order() {
        let times = [0; 10];
        assert_eq!(admitted(Limits::default(), &times), (1..=10).collect::<Vec<_>>());
        assert_eq!(admitted(Limits { skip: 8, ..Limits::default() }, &times), [9, 10]);
        assert_eq!(admitted(Limits { every: 4, ..Limits::default() }, &times), [1, 5, 9]);
        assert_eq!(admitted(Limits { skip: 1, every: 3, most: Some(2), ..Limits::default() }, &times), [2, 5]);
        assert_eq!(admitted(Limits { every: 0, most: Some(1), ..Limits::default() }, &times), [1]);
    }

    #[test]
    fn a_rate_bounds_the_occurrences_of_each_time() {
        let limits = Limits { rate: Some((2, Duration::from_secs(10))), ..Limits::default() };
        assert_eq!(admitted(limits, &[0, 1, 2, 9, 10, 11, 12, 30]), [1, 2, 5, 6, 8]);
    }
}
