//! `ntrace explain` and `ntrace survey` of A64 code, on any machine.

#[path = "../common/mod.rs"]
mod common;
mod explain;
mod survey;
