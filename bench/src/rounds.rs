//! Interleaved rounds, medians and ratios.

use std::time::Duration;

use crate::clock::thread_time;

/// A subject of a measurement: a name, and work that returns the number of units it did.
pub(crate) struct Subject<'a> {
    pub(crate) name: &'static str,
    pub(crate) work: Box<dyn FnMut() -> u64 + 'a>,
}

impl<'a> Subject<'a> {
    /// A subject.
    pub(crate) fn new(name: &'static str, work: impl FnMut() -> u64 + 'a) -> Self {
        Subject { name, work: Box::new(work) }
    }
}

/// One subject's result.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    /// Median over the rounds, in nanoseconds per unit.
    pub(crate) nanoseconds: f64,
    /// The least of all rounds, which other work on the machine disturbs least.
    pub(crate) least: f64,
    /// Units of one round.
    pub(crate) units: u64,
}

/// Runs all subjects once to warm up, then `rounds` times one after the other, so that a change of the machine's speed meets all alike.
pub(crate) fn measure(subjects: &mut [Subject<'_>], rounds: usize) -> Vec<Measured> {
    let units: Vec<u64> = subjects.iter_mut().map(|subject| (subject.work)()).collect();
    let mut times = vec![Vec::with_capacity(rounds); subjects.len()];
    for _ in 0..rounds.max(1) {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            let start = thread_time();
            std::hint::black_box((subject.work)());
            times.push(thread_time() - start);
        }
    }
    let result = subjects.iter().zip(units).zip(&mut times);
    result
        .map(|((subject, units), times)| {
            let per_unit = |time: Duration| time.as_secs_f64() * 1e9 / units.max(1) as f64;
            let nanoseconds = per_unit(median(times));
            let least = per_unit(times.iter().min().copied().unwrap_or_default());
            Measured { name: subject.name, nanoseconds, least, units }
        })
        .collect()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A table: each subject's time per unit, median and least, and how many times faster than `base` it is.
pub(crate) fn print(title: &str, base: &str, measured: &[Measured]) {
    let base_time = measured.iter().find(|one| one.name == base).map(|one| one.nanoseconds);
    println!("\n{title:<44}{:>10}{:>10}{:>12}{:>12}", "ns", "least", format!("× {base}"), "units");
    for one in measured {
        let ratio = base_time.map_or_else(String::new, |base| format!("{:.2}", base / one.nanoseconds));
        println!("{:<44}{:>10.2}{:>10.2}{:>12}{:>12}", one.name, one.nanoseconds, one.least, ratio, one.units);
    }
}

/// How many times faster than `peer` the subject `name` is, by medians and by the least times, beside the aim.
pub(crate) fn print_aim(name: &str, peer: &str, aim: f64, measured: &[Measured]) {
    let find = |name| measured.iter().find(|one| one.name == name);
    if let (Some(one), Some(peer)) = (find(name), find(peer)) {
        let (median, least) = (peer.nanoseconds / one.nanoseconds, peer.least / one.least);
        println!("aim: {name} {aim} times {}: {median:.2}, by the least {least:.2}", peer.name);
    }
}

/// How many bytes the subject `name` looks at in a nanosecond, by the median and by the least time, if all its units together have `bytes` bytes.
pub(crate) fn print_rate(name: &str, bytes: u64, measured: &[Measured]) {
    if let Some(one) = measured.iter().find(|one| one.name == name) {
        let rate = |nanoseconds: f64| bytes as f64 / (nanoseconds * one.units as f64);
        println!("{name}: {:.2} GB/s, by the least {:.2}", rate(one.nanoseconds), rate(one.least));
    }
}
