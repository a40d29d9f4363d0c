//! The properties of x86-64 that tests need.

/// The compiler flag for landing pads.
pub(crate) const MARKS: &str = "-fcf-protection=full";
/// The compiler flag for 32-bit programs.
pub(crate) const NARROW: Option<&str> = Some("-m32");
/// The name of the stack pointer.
pub(crate) const STACK: &str = "rsp";
/// The location of the second instruction in barred.c, behind one that takes the bytes of a jump.
pub(crate) const BARRED: &str = "barred+0x5";
/// The dynamic loader.
pub(crate) const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
