//! Tables written by `cargo xtask gen` from encodings.txt.

pub(crate) mod forms;
pub(crate) mod hot;
pub(crate) mod names;
pub(crate) mod special;
