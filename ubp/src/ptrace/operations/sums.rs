//! Hits that are summed up: where they happen by the code of jumps, and elsewhere by the tracer.

use std::time::Duration;

use super::super::Tracer;
use super::super::arch::sum_register;
use super::super::sys::unless_gone;
use crate::aggregation::Aggregated;
use crate::arch::MACHINES;
use crate::backend::Backend;
use crate::core::Buckets;
use crate::{Aggregation, AggregationId, AggregationKey, Error, Result};

impl Tracer {
    /// Adds an aggregation that the code of jumps can make.
    pub(in crate::ptrace) fn declare_aggregation(&mut self, declared: &Aggregation) -> Result<AggregationId> {
        declared.check(MACHINES[0].2).map_err(Error::Aggregation)?;
        let is_place = |part: &AggregationKey| matches!(part, AggregationKey::Process | AggregationKey::Location);
        if !declared.key.iter().all(is_place) {
            return Err(self.unsupported("sum hits up by threads or values"));
        }
        let is_register = |value| sum_register(value).is_some();
        let Some(value) = declared.value.filter(|value| is_register(*value)) else {
            return Err(self.unsupported("sum up anything but a whole register"));
        };
        if !matches!(declared.buckets, None | Some(Buckets::Log2)) {
            return Err(self.unsupported("sum hits up in buckets of equal width"));
        }
        self.tracees.sums.declare(declared, value)
    }

    /// What an aggregation has, which is empty afterwards if that is asked for.
    pub(in crate::ptrace) fn read_aggregation(&mut self, id: AggregationId, take: bool) -> Result<Aggregated> {
        // No thread is in the midst of an addition where all are stopped.
        for space in self.tracees.summing(id) {
            let Some(&pid) = self.tracees.processes_in(space).first() else { continue };
            let taken = self.with_stopped_threads(pid, Duration::ZERO, |tracer| {
                tracer.tracees.space_of_mut(pid)?.take_sums();
                Ok(())
            });
            unless_gone(taken)?;
        }
        self.tracees.collect_sums();
        self.tracees.sums.read(id, take)
    }
}
