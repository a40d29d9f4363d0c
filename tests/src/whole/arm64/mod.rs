//! What whole programs of arm64 are.

/// What programs are built by beside the machine's own way.
pub const BUILDS: &[&[&str]] = &[&["-static"]];
