//! The aggregates of a set of rules.

use super::super::rule::Summary;
use super::super::top::{Ranked, Top};
use crate::aggregate::{Aggregate, Table};

/// What an aggregate of a rule set holds, by the number of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reading {
    /// The values of each key.
    Table(Table<u64>),
    /// The most frequent keys.
    Top(Vec<Ranked<u64>>),
}

#[derive(Debug)]
pub(super) enum Sums {
    Table(Aggregate<u64>),
    Top(Top<u64>),
}

impl Sums {
    pub(super) fn new(summary: &Summary) -> Sums {
        if summary.top {
            return Sums::Top(Top::new(summary.most));
        }
        let aggregate = Aggregate::new(summary.most);
        Sums::Table(match summary.buckets {
            Some(buckets) => aggregate.with_histogram(buckets),
            None => aggregate,
        })
    }

    pub(super) fn add(&mut self, key: u64, value: u64) {
        match self {
            Sums::Table(aggregate) => aggregate.add(key, value),
            Sums::Top(top) => top.add(key),
        }
    }

    pub(super) fn read(&self) -> Reading {
        match self {
            Sums::Table(aggregate) => Reading::Table(aggregate.read()),
            Sums::Top(top) => Reading::Top(top.read()),
        }
    }

    pub(super) fn take(&mut self) -> Reading {
        match self {
            Sums::Table(aggregate) => Reading::Table(aggregate.take()),
            Sums::Top(top) => Reading::Top(top.take()),
        }
    }
}
