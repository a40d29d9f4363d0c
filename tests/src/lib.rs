//! What crosses rooms: the hardware oracle, lockstep against the unprobed program, whole programs.

mod skip;

pub use skip::skip;
