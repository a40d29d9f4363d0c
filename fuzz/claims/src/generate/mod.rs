//! Inputs made of a fuzzer's bytes. They know nothing of what is claimed of them.

mod address;
mod elf;
mod encoding;
mod table;

pub use address::Addresses;
pub use elf::file;
pub use encoding::{Code, Encoding};
pub use table::{Change, Session};
