//! What tests need to know of AArch64.

/// By which the compiler marks where calls and jumps land, and signs return addresses.
pub(crate) const MARKS: &str = "-mbranch-protection=standard";
/// There are no 32-bit programs.
pub(crate) const NARROW: Option<&str> = None;
/// The name of the stack pointer.
pub(crate) const STACK: &str = "sp";
/// The dynamic loader.
pub(crate) const LOADER: &str = "/lib/ld-linux-aarch64.so.1";
