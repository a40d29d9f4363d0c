//! Opens, reads and identifies files that a user or a traced program names. No file is trusted.
//!
//! A name may lead to a pipe, to a device, or to a file system that answers late or never, and a file may claim any size. Each call here
//! ends with its answer or at the deadline of `patience`.

mod fetch;
mod identity;
mod opener;
mod patience;
mod pseudo;
mod source;

pub use self::fetch::Fetch;
pub(crate) use self::identity::Identity;
pub(crate) use self::opener::is_plain;
pub use self::opener::{OpenError, Opened, Root, open};
pub(crate) use self::source::{Extent, Source};
