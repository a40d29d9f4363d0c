//! What whole programs of x86 are.

/// What programs are built by beside the machine's own way.
pub const BUILDS: &[&[&str]] = &[&["-static"], &["-m32"], &["-m32", "-static"]];
