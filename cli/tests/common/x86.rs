//! What tests need to know of x86-64.

/// By which the compiler marks where calls and jumps land.
pub(crate) const MARKS: &str = "-fcf-protection=full";
/// What the compiler is told to make 32-bit programs.
pub(crate) const NARROW: Option<&str> = Some("-m32");
/// The name of the stack pointer.
pub(crate) const STACK: &str = "rsp";
/// The dynamic loader.
pub(crate) const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
