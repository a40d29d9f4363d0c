//! Recorded hits, as the user gets them.

use std::time::Duration;

use super::super::Tracer;
use super::super::record_clock::now;
use crate::{Address, Record};

impl Tracer {
    /// Takes all recorded hits, in the order of their times.
    pub(in crate::ptrace) fn take_all_records(&mut self) -> Vec<Record> {
        let mut hits = self.tracees.take_recorded();
        if hits.is_empty() {
            return Vec::new();
        }
        hits.sort_by_key(|hit| hit.ticks);
        let now = now();
        let (ticks, time) = self.clock.known;
        let passed = i128::from(now.0.saturating_sub(ticks).max(1));
        let elapsed = now.1.saturating_sub(time).as_nanos() as i128;
        let told = &mut self.clock.told;
        let records = hits.into_iter().map(|hit| {
            let nanoseconds = (i128::from(hit.ticks) - i128::from(ticks)) * elapsed / passed + time.as_nanos() as i128;
            let time = Duration::from_nanos(nanoseconds.max(0) as u64).min(now.1);
            let last = told.entry(hit.tid).or_default();
            *last = time.max(*last);
            Record {
                pid: hit.pid,
                tid: hit.tid,
                address: Address(hit.site),
                time: *last,
                arguments: hit.arguments,
                return_address: hit.caller.map(Address),
                text: hit.text,
                stack: hit.stack,
            }
        });
        let records = records.collect();
        self.clock.told.retain(|tid, _| self.tracees.threads.contains_key(tid));
        records
    }
}
