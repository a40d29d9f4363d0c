//! Programs of `tests/programs`, built by the test, with sites that the test chooses.

#[cfg(target_arch = "aarch64")]
#[path = "arm64/mod.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86/mod.rs"]
mod arch;
mod functions;
mod go;
mod program;
mod run;

pub use functions::{Code, code_of, is_system_call, this_program};
pub use go::build_go;
pub use program::Program;
pub use run::{alone, with_sites};
