//! Threads that are kept on one processor.

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// Keeps this thread, and what it starts meanwhile, on the processor where it runs now. A tracer on another processor than its tracee asks
/// for it before it has left its processor, and the kernel lets the tracer sleep for a timer tick then (`wait_task_inactive`).
///
/// # Panics
/// Where the kernel refuses to.
pub fn on_one_processor<R>(work: impl FnOnce() -> R) -> R {
    let this = Pid::from_raw(0);
    let before = sched_getaffinity(this).expect("this thread has processors");
    let mut one = CpuSet::new();
    one.set(sched_getcpu().expect("this thread runs on a processor")).expect("a processor");
    sched_setaffinity(this, &one).expect("this thread may stay where it is");
    let result = work();
    sched_setaffinity(this, &before).expect("this thread had these processors");
    result
}

/// What `cpuid` answers.
#[cfg(target_arch = "x86_64")]
pub fn cpuid(leaf: u32, subleaf: u32) -> std::arch::x86_64::CpuidResult {
    // Newer versions of Rust call it safe.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        std::arch::x86_64::__cpuid_count(leaf, subleaf)
    }
}
