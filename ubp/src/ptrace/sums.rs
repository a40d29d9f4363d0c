//! The aggregations of a session over ptrace.

use std::collections::BTreeMap;

use crate::aggregate::Aggregate;
use crate::aggregation::Aggregated;
use crate::{Aggregation, AggregationError, AggregationId, AggregationKey, Error, Operand, Pid, Result};

/// The aggregations of a session.
#[derive(Debug, Default)]
pub(super) struct Sums {
    last: u64,
    all: BTreeMap<AggregationId, Own>,
}

/// An aggregation.
#[derive(Debug)]
struct Own {
    declared: Aggregation,
    value: Operand,
    /// What was read of the rows of trampolines, and the hits that the tracer added.
    taken: Aggregate<Vec<u64>>,
}

/// The most aggregations of a session.
const MOST: usize = 16;
/// The most bytes of the rows of an aggregation.
const MOST_BYTES: usize = 4 << 20;

/// What a trampoline has summed up at a site: number, sum (low word, high word), least, largest, and the buckets of a logarithmic histogram.
#[derive(Debug)]
pub(super) struct Summed {
    pub(super) id: AggregationId,
    pub(super) site: u64,
    pub(super) words: Vec<u64>,
}

/// Words of [`Summed`] before the histogram.
const FIXED: usize = 5;

impl Sums {
    /// Adds an aggregation of `value`.
    pub(super) fn declare(&mut self, declared: &Aggregation, value: Operand) -> Result<AggregationId> {
        let size = (declared.most as usize).saturating_mul(8 * declared.row());
        if self.all.len() >= MOST || size > MOST_BYTES {
            return Err(Error::Aggregation(AggregationError::TooMany));
        }
        self.last += 1;
        let (id, taken) = (AggregationId(self.last), declared.in_tracer());
        self.all.insert(id, Own { declared: declared.clone(), value, taken });
        Ok(id)
    }

    pub(super) fn has(&self, id: AggregationId) -> bool {
        self.all.contains_key(&id)
    }

    pub(super) fn end(&mut self, id: AggregationId) {
        self.all.remove(&id);
    }

    /// The value of an aggregation.
    pub(super) fn value(&self, id: AggregationId) -> Option<Operand> {
        self.all.get(&id).map(|own| own.value)
    }

    /// Adds a hit in the memory of `owner`.
    pub(super) fn add(&mut self, id: AggregationId, owner: Pid, site: u64, value: u64) {
        if let Some(own) = self.all.get_mut(&id) {
            own.taken.add(own.key(owner, site), value);
        }
    }

    /// Adds what a trampoline has summed up in the memory of `owner`.
    pub(super) fn add_all(&mut self, owner: Pid, summed: &Summed) {
        let Some(own) = self.all.get_mut(&summed.id) else { return };
        let all = summed.words.as_slice();
        let words = if own.declared.buckets.is_some() { Some(all) } else { all.get(..FIXED) };
        if let Some(values) = words.and_then(|words| own.declared.values(words)) {
            own.taken.add_all(own.key(owner, summed.site), &values);
        }
    }

    /// What an aggregation has, which is empty afterwards if that is asked for.
    pub(super) fn read(&mut self, id: AggregationId, take: bool) -> Result<Aggregated> {
        let own = self.all.get_mut(&id).ok_or(Error::Aggregation(AggregationError::Unknown))?;
        Ok(if take { own.taken.take() } else { own.taken.read() })
    }
}

impl Own {
    fn key(&self, owner: Pid, site: u64) -> Vec<u64> {
        let part = |part: &AggregationKey| match part {
            AggregationKey::Process => owner.0 as u64,
            _ => site,
        };
        self.declared.key.iter().map(part).collect()
    }
}
