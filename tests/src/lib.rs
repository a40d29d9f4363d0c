//! What crosses rooms: the hardware oracle, lockstep against the unprobed program, every form's semantics, whole programs.

pub mod channel;
pub mod debuggee;
mod figures;
pub mod line;
pub mod loading;
#[cfg(target_arch = "x86_64")]
pub mod lockstep;
mod memory;
pub mod module;
pub mod network;
#[cfg(target_arch = "x86_64")]
pub mod oracle;
mod pipe;
mod processor;
pub mod programs;
mod random;
pub mod ring;
#[cfg(target_arch = "x86_64")]
pub mod selftests;
#[cfg(target_arch = "x86_64")]
pub mod semantics;
pub mod signal;
pub mod sites;
mod skip;
pub mod thread;
mod turn;
pub mod uprobe;
pub mod victim;
pub mod whole;
mod words;

pub use figures::figure;
pub use memory::kernel_memory;
pub use pipe::pipe;
#[cfg(target_arch = "x86_64")]
pub use processor::cpuid;
pub use processor::on_one_processor;
pub use random::Random;
pub use skip::skip;
pub use turn::in_turn;
pub use words::words;

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
