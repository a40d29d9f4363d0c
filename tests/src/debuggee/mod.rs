//! Programs of `tests/programs`, built on the spot, with sites where a test wants them.

mod program;
mod run;

pub use program::Program;
pub use run::{alone, with_sites};
