// SPDX-License-Identifier: GPL-2.0

//! One rule.

use core::time::Duration;

use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use ubp::core::{Limits, Seen};
use wire::rule::{holds, Clause, MOST_CLAUSES};
use wire::{blob, Failure, Status};

use crate::channel::channel::time;
use crate::rules::reader::Reader;

/// A rule.
#[pin_data]
pub(crate) struct Rule {
    /// The thread whose hits it takes; 0 for all.
    thread: u64,
    clauses: KVec<Clause>,
    limits: Limits,
    /// The number of the aggregate to which hits are added; 0 for none.
    pub(crate) aggregate: u64,
    #[pin]
    seen: Mutex<Seen>,
}

impl Rule {
    /// The rule that the fields of the command describe.
    pub(crate) fn new(thread: u64, clauses: &[u8], limits: Limits, aggregate: u64) -> Result<Arc<Rule>, Failure> {
        let wrong = Failure::new(Status::Value, 1);
        if clauses.len() > MOST_CLAUSES * Clause::BYTES {
            return Err(Failure::new(Status::Limit, MOST_CLAUSES as u64));
        }
        let mut all = KVec::new();
        for clause in blob::clauses(clauses).map_err(|_| wrong)? {
            all.push(clause.ok_or(wrong)?, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        }
        let rule = pin_init!(Rule {
            thread,
            clauses: all,
            limits,
            aggregate,
            seen <- new_mutex!(Seen::default(), "ntrace rule"),
        });
        Arc::pin_init(rule, GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory.into())
    }

    /// Whether the rule takes a hit, whatever its limits.
    pub(crate) fn takes(&self, hit: &mut Reader<'_>) -> bool {
        (self.thread == 0 || self.thread == hit.opener.this_thread()) && holds(&self.clauses, |value| hit.value(value))
    }

    /// Notes a hit that it takes, and returns whether its limits admit it.
    pub(crate) fn admits(&self) -> bool {
        self.limits == Limits::default() || self.limits.admit(&mut self.seen.lock(), Duration::from_nanos(time()))
    }
}
