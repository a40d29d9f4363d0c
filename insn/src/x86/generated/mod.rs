//! Tables written by `cargo xtask gen` from opcodes.txt.

pub(crate) mod hot;
pub(crate) mod validity;
