//! Hits that are summed up where they happen.

use std::fmt;

use crate::aggregate::{Aggregate, Table, Values};
use crate::core::{Buckets, Shape};
use crate::{Arch, ConditionProblem, Operand};

/// What hits of breakpoints are summed up by ([`Session::aggregate`](crate::Session::aggregate)): rows by key, each with the number of hits, and the
/// sum, the least and the largest of their values, with a histogram if asked for.
///
/// ```
/// use ubp::{Aggregation, AggregationKey};
///
/// // The hits of each location by thread.
/// let by_thread = Aggregation::new([AggregationKey::Location, AggregationKey::Thread]);
/// assert_eq!(by_thread.most, 4096);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Aggregation {
    /// The key, of at most four parts. Without a part there is one row.
    pub key: Vec<AggregationKey>,
    /// The value. A hit whose value cannot be read is left out. `None`: hits are counted, as the value 1.
    pub value: Option<Operand>,
    /// The histogram of each row.
    pub buckets: Option<Buckets>,
    /// The most rows, at least 1. Hits of further keys are summed up together. All rows take at most 4 MiB.
    pub most: u32,
}

/// A part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AggregationKey {
    /// The process's number.
    Process,
    /// The thread's number.
    Thread,
    /// The address of the breakpoint.
    Location,
    /// A value of the thread; 0 where it cannot be read.
    Value(Operand),
}

/// The id of an aggregation in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AggregationId(pub(crate) u64);

/// What an aggregation has summed up: rows by the numbers of their keys, in the order of [`Aggregation::key`].
pub type Aggregated = Table<Vec<u64>>;

impl Aggregation {
    /// Parts of a key at most.
    pub const MOST_KEYS: usize = 4;

    /// Counts hits by key, in at most 4096 rows.
    pub fn new(key: impl Into<Vec<AggregationKey>>) -> Aggregation {
        Aggregation { key: key.into(), value: None, buckets: None, most: 4096 }
    }

    /// Sums up a value.
    #[must_use]
    pub fn value(self, value: Operand) -> Aggregation {
        Aggregation { value: Some(value), ..self }
    }

    /// With a histogram of the values in each row.
    #[must_use]
    pub fn histogram(self, buckets: Buckets) -> Aggregation {
        Aggregation { buckets: Some(buckets), ..self }
    }

    /// With at most this number of rows.
    #[must_use]
    pub fn most(self, most: u32) -> Aggregation {
        Aggregation { most, ..self }
    }

    /// The operands that it reads.
    fn operands(&self) -> impl Iterator<Item = Operand> {
        let of_key = |key: &AggregationKey| match key {
            AggregationKey::Value(operand) => Some(*operand),
            _ => None,
        };
        self.key.iter().filter_map(of_key).chain(self.value)
    }

    /// Refuses what no session can sum up.
    pub(crate) fn check(&self, arch: Arch) -> Result<(), AggregationError> {
        if self.key.len() > Aggregation::MOST_KEYS {
            return Err(AggregationError::TooManyKeys(self.key.len()));
        }
        if self.most == 0 || self.buckets.is_some_and(|buckets| !buckets.is_valid()) {
            return Err(AggregationError::Shape);
        }
        for operand in self.operands() {
            if operand == Operand::Arrivals {
                return Err(AggregationError::Arrivals);
            }
            operand.check(arch).map_err(AggregationError::Operand)?;
        }
        Ok(())
    }

    /// An aggregate of this kind in the tracer.
    pub(crate) fn in_tracer(&self) -> Aggregate<Vec<u64>> {
        let aggregate = Aggregate::new(self.most as usize);
        match self.buckets {
            Some(buckets) => aggregate.with_histogram(buckets),
            None => aggregate,
        }
    }

    /// Words of a row.
    pub(crate) fn row(&self) -> usize {
        Shape { keys: self.key.len(), buckets: self.buckets, most: self.most }.row()
    }

    /// The values of a row's words behind the key.
    pub(crate) fn values(&self, words: &[u64]) -> Option<Values> {
        Values::from_words(self.buckets, words)
    }
}

/// Why hits cannot be summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregationError {
    /// The key has this many parts, which are more than four.
    TooManyKeys(usize),
    /// There is no row, or the buckets of the histogram have no width or end above all numbers.
    Shape,
    /// An operand is the number of arrivals, which rows have anyway.
    Arrivals,
    /// An operand cannot be read.
    Operand(ConditionProblem),
    /// The session has as many aggregations as it may have, or the rows are longer than they may be.
    TooMany,
    /// The session has no memory for them.
    NoMemory,
    /// The session has no such aggregation.
    Unknown,
}

impl fmt::Display for AggregationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AggregationError::TooManyKeys(parts) => {
                write!(f, "a key has at most {} parts, and this one has {parts}", Aggregation::MOST_KEYS)
            }
            AggregationError::Shape => f.write_str("there is no row, or its buckets have no width or no end"),
            AggregationError::Arrivals => f.write_str("the number of arrivals is no value of a thread"),
            AggregationError::Operand(problem) => write!(f, "an operand cannot be read: {problem}"),
            AggregationError::TooMany => {
                f.write_str("a session has at most 16 aggregations, whose rows take at most 4 MiB each")
            }
            AggregationError::NoMemory => f.write_str("there is no memory for the rows"),
            AggregationError::Unknown => f.write_str("the session has no such aggregation"),
        }
    }
}
