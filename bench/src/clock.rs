//! Processor time of the calling thread.

use std::time::Duration;

/// Processor time that the calling thread has used (clock_gettime(2), CLOCK_THREAD_CPUTIME_ID).
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that the call may write; it has no other effect.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "CLOCK_THREAD_CPUTIME_ID is part of every Linux");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
