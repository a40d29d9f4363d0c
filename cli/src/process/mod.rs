//! Traced processes: their modules, the descriptions of their addresses, and the stacks of their threads.

mod description;
mod images;
mod mapped;
mod module;
mod running;
mod signed;
mod space;
mod unwind;

pub(crate) use description::{Description, source};
pub(crate) use images::Images;
pub(crate) use module::Module;
pub(crate) use running::differing;
pub(crate) use space::{Role, Space};
