//! Traced processes: their modules, names of addresses, stacks.

mod frames;
mod images;
mod mapped;
mod names;
mod running;
mod signed;
mod space;
mod unwind;

pub(crate) use frames::Unwinders;
pub(crate) use images::Images;
pub(crate) use names::{Place, source};
pub(crate) use running::differing;
pub(crate) use space::{Module, Role, Space};
