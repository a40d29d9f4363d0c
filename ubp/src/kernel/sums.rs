//! The aggregations of a session.

use std::collections::HashMap;

use crate::aggregate::Aggregate;
use crate::{Aggregation, AggregationId, Pid};

/// The aggregations of a session.
#[derive(Debug, Default)]
pub(super) struct Aggregations {
    pub(super) all: HashMap<AggregationId, Own>,
    /// The processes of the session's present and former debuggees, by their numbers in the channel.
    pub(super) processes: HashMap<u64, Pid>,
}

/// An aggregation, whose id is its number in the channel.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) declared: Aggregation,
    /// The hits of held threads.
    pub(super) held: Aggregate<Vec<u64>>,
}

impl Aggregations {
    pub(super) fn has(&self, id: AggregationId) -> bool {
        self.all.contains_key(&id)
    }

    /// Notes the number of a debuggee.
    pub(super) fn note(&mut self, number: u64, pid: Pid) {
        self.processes.insert(number, pid);
    }
}
