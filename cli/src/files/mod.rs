//! Files that a user or a traced program names: opened, read and told apart without trusting any of them.
//!
//! A name may lead to a pipe, to a device or to a file system that answers late or never, and a file may claim any size. Each call here
//! ends: by its answer, or because [`patience`] does.

mod identity;
mod opener;
mod patience;
mod pseudo;
mod source;

pub(crate) use identity::Identity;
pub(crate) use opener::{OpenError, Opened, Root, is_plain, open};
pub(crate) use source::Source;
