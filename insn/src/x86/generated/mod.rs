//! Tables written by `cargo xtask gen` from opcodes.txt.

pub(crate) mod common;
pub(crate) mod hot;
pub(crate) mod names;
pub(crate) mod operand_list;
pub(crate) mod semantics;
pub(crate) mod validity;
