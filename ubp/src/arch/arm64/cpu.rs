//! The decoder mode of this processor.

use super::Mode;
use crate::Arch;

/// The decoder mode of this processor.
pub(crate) fn mode(_: Arch) -> Mode {
    Mode
}
