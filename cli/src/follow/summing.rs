//! Hits that the module or the code of jumps sums up, in the place of an event or a record for each.

use std::time::{Duration, Instant};

use ubp::core::Buckets;
use ubp::rules::{Value, Values};
use ubp::{Aggregated, Aggregation, AggregationId, AggregationKey, Arch, Error, Mechanism, Operand, Pid, Session};

use crate::args::{FilterArgs, Key, Source};
use crate::native;
use crate::process::Space;

/// The least time between two readings that stop the program's threads, where nothing asks for one.
const REST: Duration = Duration::from_secs(1);

/// Bytes of an aggregation's rows at most, and rows at most.
const MOST_BYTES: usize = 4 << 20;
const MOST: usize = 1 << 16;
/// Words of a row beside its key and its histogram.
const FIXED: usize = 5;

/// How hits are summed up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) by: Option<Key>,
    pub(crate) hist: Option<Source>,
}

/// A row of hits with one key.
pub(crate) struct Summed<'a> {
    pub(crate) address: u64,
    /// The thread, the process, or the value by which hits are divided.
    pub(crate) by: Option<u64>,
    pub(crate) values: &'a Values,
}

/// The aggregation of a session.
#[derive(Debug)]
pub(super) struct Summing {
    /// Whether the program's threads are stopped while the rows are read.
    stops: bool,
    taken: Instant,
    id: AggregationId,
}

impl Sums {
    /// The aggregation. `None`: no aggregation has such a key.
    fn declared(self) -> Option<Aggregation> {
        let operand = |source| match source {
            // Those of a 32-bit program are no values of an aggregation (`Summing::of`).
            Source::Argument(number) => Value::Argument(u8::try_from(number).ok()?).operand(native::ARCH),
            Source::Register(register) => Some(Operand::Register(register)),
        };
        let by = match self.by {
            None => None,
            Some(Key::Thread) => Some(AggregationKey::Thread),
            Some(Key::Process) => Some(AggregationKey::Process),
            Some(Key::Value(source)) => Some(AggregationKey::Value(operand(source)?)),
            Some(Key::Caller) => return None,
        };
        let key: Vec<AggregationKey> =
            [AggregationKey::Process, AggregationKey::Location].into_iter().chain(by).collect();
        let buckets = self.hist.map(|_| Buckets::Log2);
        let row = 8 * (key.len() + FIXED + buckets.map_or(0, Buckets::number));
        let declared = Aggregation::new(key).most((MOST_BYTES / row).min(MOST) as u32);
        let declared = buckets.map_or(declared.clone(), |buckets| declared.histogram(buckets));
        match self.hist {
            Some(source) => Some(declared.value(operand(source)?)),
            None => Some(declared),
        }
    }
}

impl Summing {
    /// Has hits summed up where they happen, if that is possible and the filter needs nobody else.
    ///
    /// # Errors
    /// The session failed.
    pub(super) fn begin(session: &mut Session, sums: Sums, filter: &FilterArgs) -> ubp::Result<Option<Summing>> {
        let is_plain = filter.sample.is_none() && filter.after.is_empty() && filter.until.is_empty();
        let declared = sums.declared().filter(|_| is_plain);
        let Some(declared) = declared else { return Ok(None) };
        match session.aggregate(&declared) {
            Ok(id) => {
                let stops = session.mechanism() == Mechanism::Ptrace;
                Ok(Some(Summing { stops, taken: Instant::now(), id }))
            }
            // An older module, or one without memory, tells of each hit. So does ptrace for what jumps cannot sum up.
            Err(Error::Unsupported { .. } | Error::Aggregation(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The aggregation for the breakpoints of a process. Registers of 32-bit programs are no values of one.
    pub(super) fn of(&self, session: &Session, space: &Space) -> Option<AggregationId> {
        let is_wide = session.process(space.pid).is_some_and(|process| process.arch() != Arch::I386);
        is_wide.then_some(self.id)
    }

    /// Whether it is time to read the rows, where nothing else asks for it.
    pub(super) fn is_due(&self) -> bool {
        !self.stops || self.taken.elapsed() >= REST
    }

    /// Takes the rows of the hits since the last call. The aggregation is empty afterwards.
    ///
    /// # Errors
    /// The session failed.
    pub(super) fn take(&mut self, session: &mut Session) -> ubp::Result<Aggregated> {
        self.taken = Instant::now();
        session.take_aggregated(self.id)
    }
}

/// The process of a row, and what the row has.
pub(super) fn summed<'a>(key: &[u64], values: &'a Values) -> Option<(Pid, Summed<'a>)> {
    let [pid, address, by @ ..] = key else { return None };
    Some((Pid(*pid as i32), Summed { address: *address, by: by.first().copied(), values }))
}
