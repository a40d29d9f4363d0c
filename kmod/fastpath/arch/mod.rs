// SPDX-License-Identifier: GPL-2.0

//! What differs between architectures.

#[cfg(CONFIG_ARM64)]
mod arm64;
#[cfg(CONFIG_X86_64)]
mod x86;

#[cfg(CONFIG_ARM64)]
pub use arm64::*;
#[cfg(CONFIG_X86_64)]
pub use x86::*;
