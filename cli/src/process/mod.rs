//! Traced processes: their modules and breakpoints, and the descriptions of their addresses.

mod code;
mod description;
mod semaphores;
mod space;

pub(crate) use code::{inside_instruction, replaced};
pub(crate) use description::{Description, describe, source};
pub(crate) use space::{Role, Space, Watched};
