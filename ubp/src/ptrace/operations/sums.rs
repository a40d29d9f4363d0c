//! Hits that are summed up: where they happen by the code of jumps, and elsewhere by the tracer.

use std::time::Duration;

use super::super::Tracer;
use super::super::arch::sum_register;
use super::super::blocked::Blocked;
use super::super::status::Status;
use super::super::sys::unless_gone;
use crate::aggregation::Aggregated;
use crate::arch::MACHINES;
use crate::backend::Backend;
use crate::core::Buckets;
use crate::{Aggregation, AggregationId, AggregationKey, Error, Pid, Result, Tid};

/// The time for which all threads of a memory wait for one that waits uninterruptibly.
const MOMENT: Duration = Duration::from_millis(1);

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
        for space in self.tracees.summing(id) {
            let Some(&pid) = self.tracees.processes_in(space).first() else { continue };
            unless_gone(self.with_stopped_threads(pid, MOMENT, |tracer| tracer.take_sums(pid)))?;
        }
        self.tracees.collect_sums();
        self.tracees.sums.read(id, take)
    }

    /// Takes what trampolines have summed up in a memory, all of whose threads are stopped or wait uninterruptibly. A thread that waits for a page may
    /// have added half of a hit. Then nothing is taken, and the next result has it.
    fn take_sums(&mut self, pid: Pid) -> Result<()> {
        let threads = self.tracees.threads_in(self.tracees.debuggee(pid)?.space);
        let waits_for_memory = |tid: &Tid| {
            let is_stopped = self.tracees.threads.get(tid).is_none_or(|thread| thread.stop().is_some());
            !is_stopped && Status::read(*tid).is_ok_and(|status| status.state != b'Z') && Blocked::of(*tid).is_none()
        };
        if !threads.iter().any(waits_for_memory) {
            self.tracees.space_of_mut(pid)?.take_sums();
        }
        Ok(())
    }
}
