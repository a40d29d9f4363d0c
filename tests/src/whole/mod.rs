//! Whole programs: undisturbed, under `ntrace`, and single-stepped by the processor.

mod command;
mod recorder;

pub use command::{Outcome, all, count_everything, hits_in_all, ntrace, run, run_silently, run_within};
pub use recorder::{Recording, count, record};
