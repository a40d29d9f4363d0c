//! Tables written by `cargo xtask gen` from encodings.txt and operands.txt.

pub(crate) mod effects;
pub(crate) mod forms;
pub(crate) mod hot;
pub(crate) mod names;
pub(crate) mod operand_list;
pub(crate) mod special;
