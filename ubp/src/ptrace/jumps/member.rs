//! What a trampoline does at a site.

use super::{Detail, Shape, Sum, Test, Windows};

/// A site whose arrivals a trampoline counts.
#[derive(Clone, Debug)]
pub(in crate::ptrace) struct Member {
    /// Offset from the site of the jump.
    pub(in crate::ptrace) offset: u8,
    /// Address of the counter.
    pub(in crate::ptrace) counter: u64,
    /// What stops threads.
    pub(in crate::ptrace) test: Option<Test>,
    /// What records arrivals, in the place of the counter.
    pub(in crate::ptrace) recording: Option<Recording>,
    /// What sums arrivals up, in the place of the counter.
    pub(in crate::ptrace) sum: Option<Sum>,
}

impl Member {
    /// Address and number of the words whose sum is the number of arrivals.
    pub(in crate::ptrace) fn counters(&self) -> (u64, usize) {
        self.sum.map_or((self.counter, 1), |sum| sum.buckets())
    }

    /// Whether the tracer does what the trampoline has not done, with the count.
    pub(in crate::ptrace) fn acts(&self) -> bool {
        self.recording.is_some() || self.sum.is_some()
    }
}

/// How a trampoline records arrivals.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Recording {
    /// The number of the site.
    pub(in crate::ptrace) id: u32,
    pub(in crate::ptrace) detail: Detail,
    /// Address of the ring, and what it is like.
    pub(in crate::ptrace) ring: (u64, Shape),
    pub(in crate::ptrace) windows: Windows,
}
