//! Inputs made from a fuzzer's bytes. They know nothing of the claims.

mod address;
mod elf;
mod encoding;
mod encodings;
mod forms;
mod stream;
mod table;

pub use address::Addresses;
pub use elf::file;
pub use encoding::{Code, Encoding};
pub use encodings::encodings;
pub use forms::forms;
pub use stream::Stream;
pub use table::{Change, Session};
