//! What whole programs of x86 are.

/// What programs are built by beside the machine's own way.
pub const BUILDS: &[&[&str]] = &[&["-static"], &["-m32"], &["-m32", "-static"]];
/// Rounds of long storms, with sites everywhere and with sites that come and go.
pub const LONG_STORMS: [u64; 2] = [32, 3000];
