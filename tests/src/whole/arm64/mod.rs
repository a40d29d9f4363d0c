//! What whole programs of arm64 are.

/// What programs are built by beside the machine's own way.
pub const BUILDS: &[&[&str]] = &[&["-static"]];
/// Rounds of long storms, with sites everywhere and with sites that come and go: few, as it is emulated.
pub const LONG_STORMS: [u64; 2] = [6, 600];
