//! Lengths by vectors, for batches: of all instructions that start at the bytes of a block, wherever instructions really start.
//!
//! Vectors tell the lengths of common instructions in 64-bit mode. Which these are does not matter for the answers, because batches ask the
//! decoder of single instructions for all others.

#[allow(unsafe_code, reason = "intrinsics are unsafe")]
mod avx2;
mod factor;
mod kinds;
mod lengths;
mod modrm;
#[cfg(test)]
mod plain;
mod state;
#[cfg(test)]
mod tests;
mod vectors;

pub(super) use avx2::Finder;
