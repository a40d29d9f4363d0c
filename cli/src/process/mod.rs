//! Traced processes: their modules and breakpoints, and the descriptions of their addresses.

mod description;
mod semaphores;
mod space;

pub(crate) use description::{Description, describe, source};
pub(crate) use space::{Role, Space, Watched};
