//! Whole programs: undisturbed, under `ntrace`, and single-stepped by the processor.

mod command;
mod recorder;

pub use command::{Outcome, ntrace, run, run_silently};
pub use recorder::{Recording, record};
