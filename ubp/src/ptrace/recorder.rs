//! The hits that trampolines, and the tracer in their place, have recorded.

use std::collections::HashMap;

use super::jumps::SITES;
use crate::record::{ARGUMENTS, StackCopy, Text};
use crate::{Pid, Tid};

/// A recorded hit.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) site: u64,
    /// The time stamp counter.
    pub(super) ticks: u64,
    pub(super) arguments: [u64; ARGUMENTS],
    pub(super) caller: Option<u64>,
    pub(super) text: Option<Box<[Text; ARGUMENTS]>>,
    pub(super) stack: Option<Box<StackCopy>>,
}

/// What is known of recorded hits in an address space.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// Sites, by the numbers that records have, and the numbers.
    pub(super) sites: Vec<u64>,
    numbers: HashMap<u64, u32>,
    /// The threads, by their bases of fs.
    pub(super) keys: HashMap<u64, (Pid, Tid)>,
    /// The thread of all other bases.
    pub(super) main: Option<(Pid, Tid)>,
    /// The hits, those of each thread in their order.
    pub(super) hits: Vec<Recorded>,
    /// Number of hits that were not recorded, or overwritten, and are not told yet.
    pub(super) lost: u64,
}

impl Recorder {
    /// The recorder of a forked child.
    pub(super) fn fork(&self, child: Pid) -> Recorder {
        let (sites, numbers) = (self.sites.clone(), self.numbers.clone());
        Recorder { sites, numbers, main: Some((child, child.leader())), ..Recorder::default() }
    }

    /// Gives a site a number.
    pub(super) fn add_site(&mut self, site: u64) {
        let next = self.sites.len() as u32;
        if *self.numbers.entry(site).or_insert(next) == next {
            self.sites.push(site);
        }
    }

    /// Whether no other site can have a number.
    pub(super) fn is_full(&self) -> bool {
        self.sites.len() >= SITES
    }

    /// The number of a site that has one.
    pub(super) fn number(&self, site: u64) -> u32 {
        self.numbers.get(&site).copied().unwrap_or(0)
    }
}
