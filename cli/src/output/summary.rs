//! The line about a whole run.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::message::tell;
use super::streams::stderr;

/// What the line tells of, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    what: &'static str,
    began: Instant,
    /// The processor time of this thread at that time, if the kernel tells it.
    worked: Option<Duration>,
}

/// What is known of the time that hits cost the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// At each hit a thread waits for this thread of ntrace.
    Held,
    /// Hits cost time where nobody measures it: in code of the program, or in the kernel.
    Unknown,
}

impl Summary {
    /// A run that begins now, and that the calling thread traces. `what` are the things that are counted: `hits`.
    pub(crate) fn new(what: &'static str) -> Summary {
        Summary { what, began: Instant::now(), worked: processor_time() }
    }

    /// Writes the line to standard error if that is a terminal.
    pub(crate) fn tell(self, count: u64, lost: u64, cost: Cost) {
        if stderr().is_terminal() {
            let worked = processor_time().zip(self.worked).map(|(now, before)| now.saturating_sub(before));
            let worked = worked.filter(|_| count > 0 && cost == Cost::Held);
            tell(self.line(count, lost, self.began.elapsed().as_secs_f64(), worked.map(|time| time.as_secs_f64())));
        }
    }

    fn line(self, count: u64, lost: u64, seconds: f64, worked: Option<f64>) -> String {
        let estimate = worked.and_then(|worked| slowdown(seconds, worked)).unwrap_or_default();
        format!("{} {count}, lost {lost}, seconds {seconds:.2}{estimate}", self.what)
    }
}

/// The processor time of the calling thread.
fn processor_time() -> Option<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    let of = |time: TimeVal| {
        let seconds = u64::try_from(time.tv_sec()).ok().map(Duration::from_secs)?;
        Some(seconds + Duration::from_micros(u64::try_from(time.tv_usec()).ok()?))
    };
    of(usage.user_time())?.checked_add(of(usage.system_time())?)
}

/// How much longer a run of some seconds took because ntrace worked for some of them; nothing if that is less than a twentieth.
fn slowdown(seconds: f64, worked: f64) -> Option<String> {
    let alone = seconds - worked;
    let factor = if alone > 0.0 { seconds / alone } else { f64::INFINITY };
    let times = match factor {
        ..1.05 => return None,
        ..10.0 => format!("about {factor:.1} times as long"),
        _ => "more than 10 times as long".into(),
    };
    Some(format!(", ntrace at work for {worked:.2}: {times}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_three_numbers_and_an_estimate_where_one_is_known() {
        let line = |seconds, worked| Summary::new("hits").line(7, 2, seconds, worked);
        assert_eq!(line(1.5, None), "hits 7, lost 2, seconds 1.50");
        assert_eq!(line(1.5, Some(0.05)), "hits 7, lost 2, seconds 1.50");
        let slow = "hits 7, lost 2, seconds 1.50, ntrace at work for 0.50: about 1.5 times as long";
        assert_eq!(line(1.5, Some(0.5)), slow);
        for worked in [1.4, 1.5, 2.0] {
            assert!(line(1.5, Some(worked)).ends_with(": more than 10 times as long"), "{worked}");
        }
    }

    #[test]
    fn the_processor_time_grows_while_the_thread_works() {
        let before = processor_time().unwrap();
        while processor_time().unwrap() == before {}
    }
}
