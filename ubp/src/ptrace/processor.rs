//! The processor on which the tracer runs while the event loop handles many stops.
//!
//! A tracer on another processor than the thread that stops has to be woken there, and wakes that thread in turn: waking a processor that
//! sleeps takes many times as long as all else at a hit. On the thread's processor the two take turns. Whether that is faster depends on
//! how many threads and processors there are and what else runs, so that the tracer measures both, again and again. Only the tracer's own affinity
//! changes, and the caller of the session never sees that.

use std::io;
use std::mem::size_of;
use std::time::{Duration, Instant};

use libc::cpu_set_t;

use super::status;
use crate::Tid;

/// The number of stops whose time is measured together.
const STOPS: u32 = 256;
/// A longer time tells of what the debuggee does besides.
const LONGEST: Duration = Duration::from_millis(500);
/// The number of measurements after which the other place is measured once more.
const OFTEN: u32 = 32;

/// Where the tracer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Where the kernel puts it.
    Free,
    /// On the processor of the thread that stopped last.
    Near,
}

/// The choice of a place.
#[derive(Debug)]
pub(super) struct Processor {
    /// Whether the tracer may choose.
    may_choose: bool,
    /// The processor that the tracer is kept on, and the processors that it may use besides.
    kept: Option<(usize, cpu_set_t)>,
    stops: u32,
    begun: Option<Instant>,
    /// What the last measurement at each place took.
    free: Option<Duration>,
    near: Option<Duration>,
    measurements: u32,
}

impl Processor {
    pub(super) fn new(may_choose: bool) -> Processor {
        Processor { may_choose, kept: None, stops: 0, begun: None, free: None, near: None, measurements: 0 }
    }

    /// Notes a stop of a thread, and chooses the place where the tracer handles the next.
    pub(super) fn note_stop(&mut self, tid: Tid) {
        if !self.may_choose {
            return;
        }
        self.stops += 1;
        if self.stops < STOPS {
            return;
        }
        let now = Instant::now();
        let time = self.begun.map(|begun| now.duration_since(begun)).filter(|time| *time < LONGEST);
        (self.stops, self.begun) = (0, Some(now));
        let Some(time) = time else { return };
        match self.place() {
            Place::Free => self.free = Some(time),
            Place::Near => self.near = Some(time),
        }
        self.measurements = self.measurements.wrapping_add(1);
        match self.next_place() {
            Place::Free => self.leave(),
            Place::Near => self.follow(tid),
        }
    }

    /// Whether the tracer is kept on the processor of a thread: that thread cannot run while the tracer polls.
    pub(super) fn is_near(&self) -> bool {
        self.kept.is_some()
    }

    fn place(&self) -> Place {
        if self.kept.is_some() { Place::Near } else { Place::Free }
    }

    fn next_place(&self) -> Place {
        let better = match (self.free, self.near) {
            (Some(free), Some(near)) if near > free => Place::Free,
            (None, Some(_)) => Place::Free,
            _ => Place::Near,
        };
        match (better, self.measurements % OFTEN) {
            (Place::Free, 0) => Place::Near,
            (Place::Near, 0) => Place::Free,
            _ => better,
        }
    }

    /// Keeps the tracer on the processor of a stopped thread, if it may run there.
    fn follow(&mut self, tid: Tid) {
        let Some(processor) = status::processor(tid) else { return };
        if self.kept.is_some_and(|(kept, _)| kept == processor) {
            return;
        }
        let allowed = match self.kept {
            Some((_, allowed)) => allowed,
            None => match affinity() {
                Ok(allowed) => allowed,
                Err(_) => return self.give_up(),
            },
        };
        let Some(one) = only(processor, &allowed) else { return };
        match set_affinity(&one) {
            Ok(()) => self.kept = Some((processor, allowed)),
            Err(_) => self.give_up(),
        }
    }

    /// Lets the tracer run on all processors that it may use. The measurement that is under way ends.
    pub(super) fn leave(&mut self) {
        let Some((processor, allowed)) = self.kept.take() else { return };
        let is_ours = || only(processor, &allowed).is_some_and(|one| affinity().is_ok_and(|set| is_equal(&set, &one)));
        // Somebody else may have chosen other processors for the tracer meanwhile.
        if is_ours() && set_affinity(&allowed).is_err() {
            self.may_choose = false;
        }
    }

    /// The event loop ends: its caller runs where it ran before.
    pub(super) fn end(&mut self) {
        self.leave();
        (self.stops, self.begun) = (0, None);
    }

    fn give_up(&mut self) {
        self.leave();
        self.may_choose = false;
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The processors that the calling thread may use.
fn affinity() -> io::Result<cpu_set_t> {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut set: cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live structure of the size that is given.
    match unsafe { libc::sched_getaffinity(0, size_of::<cpu_set_t>(), &mut set) } {
        0 => Ok(set),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_affinity(set: &cpu_set_t) -> io::Result<()> {
    // SAFETY: `set` is a live structure of the size that is given.
    match unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The set of one processor. `None`: it is not among the allowed ones.
fn only(processor: usize, allowed: &cpu_set_t) -> Option<cpu_set_t> {
    if processor >= 8 * size_of::<cpu_set_t>() {
        return None;
    }
    // SAFETY: all-zero bytes are a valid value of this plain C structure, and the number is within it.
    unsafe {
        let mut one: cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut one);
        libc::CPU_ISSET(processor, allowed).then_some(one)
    }
}

fn is_equal(one: &cpu_set_t, other: &cpu_set_t) -> bool {
    // SAFETY: both are live structures.
    unsafe { libc::CPU_EQUAL(one, other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next places, if a measurement takes this many milliseconds at each place.
    fn places(free: u64, near: u64, count: usize) -> Vec<Place> {
        let mut processor = Processor::new(true);
        let mut place = Place::Free;
        let mut seen = Vec::new();
        for _ in 0..count {
            let time = Some(Duration::from_millis(if place == Place::Free { free } else { near }));
            *(if place == Place::Free { &mut processor.free } else { &mut processor.near }) = time;
            processor.measurements += 1;
            place = processor.next_place();
            seen.push(place);
        }
        seen
    }

    #[test]
    fn the_tracer_stays_where_a_hit_is_faster_and_measures_the_other_place_seldom() {
        let of = |places: Vec<Place>, place| places.into_iter().filter(|seen| *seen == place).count();
        assert_eq!(of(places(9, 3, 96), Place::Free), 3);
        assert_eq!(of(places(3, 9, 96), Place::Near), 1 + 3);
    }

    #[test]
    fn the_processors_of_the_caller_are_as_before_when_the_event_loop_ends() {
        let before = affinity().unwrap();
        let this = Tid(super::super::sys::own_tid());
        let mut processor = Processor::new(true);
        processor.follow(this);
        let kept = affinity().unwrap();
        // SAFETY: a live structure.
        assert_eq!(unsafe { libc::CPU_COUNT(&kept) }, 1);
        processor.end();
        assert!(is_equal(&affinity().unwrap(), &before));
    }

    #[test]
    fn a_choice_of_processors_that_somebody_made_meanwhile_stays() {
        let before = affinity().unwrap();
        // SAFETY: a live structure.
        if unsafe { libc::CPU_COUNT(&before) } < 2 {
            return;
        }
        let mut processor = Processor::new(true);
        processor.follow(Tid(super::super::sys::own_tid()));
        set_affinity(&before).unwrap();
        let other = (0..64).filter_map(|number| only(number, &before)).next().unwrap();
        let kept = processor.kept.map(|(number, _)| number).unwrap();
        let other = if is_equal(&other, &only(kept, &before).unwrap()) {
            (0..64).filter_map(|number| only(number, &before)).nth(1).unwrap()
        } else {
            other
        };
        set_affinity(&other).unwrap();
        processor.end();
        assert!(is_equal(&affinity().unwrap(), &other));
        set_affinity(&before).unwrap();
    }
}
