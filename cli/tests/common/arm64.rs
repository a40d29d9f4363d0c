//! The properties of AArch64 that tests need.

/// The compiler flag for landing pads and signed return addresses.
pub(crate) const MARKS: &str = "-mbranch-protection=standard";
/// The compiler flag for 32-bit programs, which do not exist.
pub(crate) const NARROW: Option<&str> = None;
/// The name of the stack pointer.
pub(crate) const STACK: &str = "sp";
/// The location of the second instruction in barred.c.
pub(crate) const BARRED: &str = "barred+0x4";
/// The dynamic loader.
pub(crate) const LOADER: &str = "/lib/ld-linux-aarch64.so.1";
