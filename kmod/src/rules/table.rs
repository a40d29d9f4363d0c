// SPDX-License-Identifier: GPL-2.0

//! The rules and aggregates of a session, by number.

use core::sync::atomic::{AtomicU64, Ordering};

use kernel::alloc::KVec;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use wire::rule::{MOST_AGGREGATES, MOST_RULES};
use wire::{Failure, Status};

use crate::rules::aggregate::Aggregate;
use crate::rules::rule::Rule;
use crate::vec;

/// The rules and aggregates of a session.
#[pin_data]
pub(crate) struct Rules {
    /// The next number of a rule or an aggregate. 0 is none's.
    next: AtomicU64,
    #[pin]
    all: Mutex<All>,
}

/// What hits look numbers up in.
struct All {
    rules: Numbered<Rule>,
    aggregates: Numbered<Aggregate>,
}

/// Values by number, in the order of the numbers.
struct Numbered<T: 'static>(KVec<(u64, Arc<T>)>);

impl<T> Numbered<T> {
    fn place(&self, number: u64) -> Option<usize> {
        self.0.binary_search_by_key(&number, |(number, _)| *number).ok()
    }

    fn get(&self, number: u64) -> Option<&Arc<T>> {
        self.0.get(self.place(number)?).map(|(_, value)| value)
    }

    fn add(&mut self, number: u64, value: Arc<T>, most: usize) -> Result<u64, Failure> {
        if self.0.len() >= most {
            return Err(Failure::new(Status::Limit, most as u64));
        }
        self.0.push((number, value), GFP_KERNEL_ACCOUNT).map_err(|_| Status::NoMemory)?;
        Ok(number)
    }

    /// Removes a value. The caller drops it without the lock.
    fn remove(&mut self, number: u64) -> Result<Arc<T>, Failure> {
        let place = self.place(number).ok_or(Failure::new(Status::Value, 0))?;
        let (_, value) = vec::remove_at(&mut self.0, place).ok_or(Failure::new(Status::Value, 0))?;
        Ok(value)
    }
}

impl Rules {
    /// No rules.
    pub(crate) fn none() -> impl PinInit<Rules> {
        let all = All { rules: Numbered(KVec::new()), aggregates: Numbered(KVec::new()) };
        pin_init!(Rules { next: AtomicU64::new(1), all <- new_mutex!(all, "ntrace rules") })
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a rule. Returns its number.
    pub(crate) fn add_rule(&self, rule: Arc<Rule>) -> Result<u64, Failure> {
        let mut all = self.all.lock();
        if rule.aggregate != 0 && all.aggregates.place(rule.aggregate).is_none() {
            return Err(Failure::new(Status::Value, 3));
        }
        all.rules.add(self.number(), rule, MOST_RULES)
    }

    pub(crate) fn remove_rule(&self, number: u64) -> Result<(), Failure> {
        let removed = self.all.lock().rules.remove(number)?;
        drop(removed);
        Ok(())
    }

    /// Whether there is a rule of this number.
    pub(crate) fn has_rule(&self, number: u64) -> bool {
        self.all.lock().rules.place(number).is_some()
    }

    /// Adds an aggregate. Returns its number.
    pub(crate) fn add_aggregate(&self, aggregate: Arc<Aggregate>) -> Result<u64, Failure> {
        self.all.lock().aggregates.add(self.number(), aggregate, MOST_AGGREGATES)
    }

    pub(crate) fn remove_aggregate(&self, number: u64) -> Result<(), Failure> {
        let removed = self.all.lock().aggregates.remove(number)?;
        drop(removed);
        Ok(())
    }

    pub(crate) fn aggregate(&self, number: u64) -> Result<Arc<Aggregate>, Failure> {
        self.all.lock().aggregates.get(number).cloned().ok_or(Failure::new(Status::Value, 0))
    }

    /// The rule of a number, and its aggregate.
    pub(crate) fn find(&self, number: u64) -> Option<(Arc<Rule>, Option<Arc<Aggregate>>)> {
        let all = self.all.lock();
        let rule = all.rules.get(number)?;
        Some((rule.clone(), all.aggregates.get(rule.aggregate).cloned()))
    }

    /// Forgets all, and gives their memory back.
    pub(crate) fn clear(&self) {
        let none = All { rules: Numbered(KVec::new()), aggregates: Numbered(KVec::new()) };
        let all = core::mem::replace(&mut *self.all.lock(), none);
        drop(all);
    }
}
