//! What crosses rooms: the hardware oracle, lockstep against the unprobed program, every form's semantics, whole programs.

#[cfg(target_arch = "x86_64")]
pub mod debuggee;
mod figures;
#[cfg(target_arch = "x86_64")]
pub mod lockstep;
#[cfg(target_arch = "x86_64")]
pub mod oracle;
mod random;
#[cfg(target_arch = "x86_64")]
pub mod selftests;
#[cfg(target_arch = "x86_64")]
pub mod semantics;
mod skip;
#[cfg(target_arch = "x86_64")]
pub mod whole;

pub use figures::figure;
pub use random::Random;
pub use skip::skip;

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
