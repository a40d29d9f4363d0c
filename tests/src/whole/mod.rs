//! Whole programs: undisturbed, under `ntrace`, and single-stepped by the processor.

#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod arch;
mod command;
mod recording;
mod retry;

pub use arch::{BUILDS, LONG_STORMS};
pub use command::{
    Length, Outcome, all, count_everything, hits_in_all, ntrace, run, run_silently, run_traced, run_within, wanted,
    without_exclusives,
};
pub use recording::{Counts, Place, record};
pub use retry::retried;
