//! How long test programs take, and how long they may.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::run;

/// The programs that take longest, in seconds, for a checkout where none has run yet. Other programs run beside them, except in virtual machines.
const LONGEST: [(&str, f64); 13] = [
    ("tests/tests/whole_counts.rs", 200.0),
    ("tests/tests/selftests.rs", 290.0),
    ("insn/tests/x86_properties.rs", 215.0),
    ("tests/tests/whole_programs.rs", 200.0),
    ("tests/tests/lockstep_arm64/main.rs", 195.0),
    ("record/tests/recorder.rs", 180.0),
    ("cli/tests/record.rs", 170.0),
    ("ubp/tests/jumps/main.rs", 115.0),
    ("ubp/tests/batch.rs", 95.0),
    ("cli/tests/whole_program.rs", 70.0),
    ("tests/tests/whole_storm.rs", 55.0),
    ("tests/tests/proof.rs", 40.0),
    ("tests/tests/displaced.rs", 37.0),
];
/// A program may take this many times as long as it is known to take, because another machine is slower or has more to do.
const TIMES: f64 = 4.0;
/// The seconds that each program may take, and the most that one may take in an ordinary run.
const LEAST_LIMIT: u32 = 600;
pub(crate) const MOST_LIMIT: u32 = 1800;

/// How long test programs took in a place when they passed last, by their names.
pub(crate) struct Seconds {
    path: PathBuf,
    known: BTreeMap<String, f64>,
}

impl Seconds {
    /// The noted times of a place, the host or a machine; nothing if the file cannot be read.
    pub(crate) fn of_place(place: &str) -> Seconds {
        let path = run::root().join("target/lanes/seconds").join(format!("{}.json", place.replace(['/', ' '], "-")));
        let text = fs::read_to_string(&path).unwrap_or_default();
        Seconds { path, known: serde_json::from_str(&text).unwrap_or_default() }
    }

    /// Milliseconds by which programs are ordered: those that take longest begin first. A program that never ran counts as the longest if others
    /// have run.
    pub(crate) fn order(&self, name: &str) -> u64 {
        let unknown = if self.known.is_empty() { 0 } else { u64::MAX };
        self.known.get(name).or_else(|| listed(name)).map_or(unknown, |seconds| (seconds * 1000.0) as u64)
    }

    /// The seconds that a program may take in an ordinary run. One that hangs is killed then.
    pub(crate) fn limit(&self, name: &str) -> u32 {
        let known = [self.known.get(name), listed(name)].into_iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
        ((known * TIMES) as u32).clamp(LEAST_LIMIT, MOST_LIMIT)
    }

    /// Notes the time of a program that passed: one that failed may have been killed early or late.
    pub(crate) fn note(&mut self, name: &str, time: Duration) {
        self.known.insert(name.to_owned(), time.as_secs_f64());
    }

    pub(crate) fn write(&self) -> Result<()> {
        let folder = self.path.parent().context("the file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let text = serde_json::to_string_pretty(&self.known).context("a table of numbers")?;
        fs::write(&self.path, text).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn listed(name: &str) -> Option<&'static f64> {
    LONGEST.iter().find(|(long, _)| *long == name).map(|(_, seconds)| seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Seconds {
        Seconds { path: PathBuf::new(), known: BTreeMap::new() }
    }

    #[test]
    fn programs_that_took_longest_begin_first_and_those_that_never_ran_before_them() {
        let mut seconds = none();
        seconds.note("short", Duration::from_millis(3));
        seconds.note("long", Duration::from_secs(3));
        let mut names = ["short", "new", "long"];
        names.sort_by_key(|name| std::cmp::Reverse(seconds.order(name)));
        assert_eq!(names, ["new", "long", "short"]);
    }

    #[test]
    fn where_no_program_has_run_those_begin_first_that_are_known_to_take_long() {
        let mut names = ["a/tests/new.rs", "tests/tests/whole_storm.rs", "tests/tests/selftests.rs"];
        names.sort_by_key(|name| std::cmp::Reverse(none().order(name)));
        assert_eq!(names, ["tests/tests/selftests.rs", "tests/tests/whole_storm.rs", "a/tests/new.rs"]);
        assert!(LONGEST.iter().all(|(name, _)| run::root().join(name).exists()), "a program of the list was moved");
    }

    #[test]
    fn a_program_may_take_several_times_as_long_as_it_is_known_to_take() {
        let mut seconds = none();
        assert_eq!(seconds.limit("new"), LEAST_LIMIT);
        assert_eq!(seconds.limit("tests/tests/selftests.rs"), 1160);
        for (noted, limit) in [(1, LEAST_LIMIT), (200, 800), (1000, MOST_LIMIT)] {
            seconds.note("new", Duration::from_secs(noted));
            assert_eq!(seconds.limit("new"), limit);
        }
        // Here it took less than it is known to take elsewhere.
        seconds.note("tests/tests/selftests.rs", Duration::from_secs(1));
        assert_eq!(seconds.limit("tests/tests/selftests.rs"), 1160);
        assert!(LONGEST.iter().all(|(name, known)| f64::from(none().limit(name)) >= 3.0 * known), "three times slower");
    }
}
