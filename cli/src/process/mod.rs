//! Traced processes: their modules, names of addresses, stacks.

mod images;
mod names;
mod signed;
mod space;
mod unwind;

pub(crate) use images::Images;
pub(crate) use names::{Place, source};
pub(crate) use space::{Module, Role, Space};
pub(crate) use unwind::return_addresses;
