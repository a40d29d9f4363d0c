//! How this processor reads code.

use super::Mode;
use crate::Arch;

/// How code is read here.
pub(crate) fn mode(_: Arch) -> Mode {
    Mode
}
