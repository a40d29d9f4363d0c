//! Programs of `tests/programs`, built on the spot, with sites where a test wants them.

mod go;
mod program;
mod run;

pub use go::build_go;
pub use program::Program;
pub use run::{alone, with_sites};
