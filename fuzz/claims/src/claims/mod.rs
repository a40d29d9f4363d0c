//! The claims.

mod arena;
mod batch;
mod channel;
mod decoders;
mod decoding;
mod file;
mod recording;
mod slots;
mod table;
mod translation;

pub use arena::arena;
pub use batch::batch;
pub use channel::channel;
pub use decoders::{decoders, disagreements, list};
pub use decoding::decoding;
pub use file::file;
pub use recording::recording;
pub use slots::slots;
pub use table::table;
pub use translation::translation;

/// What a generator makes of `data`; nothing where it wants more bytes than there are.
fn generate<'a, T: arbitrary::Arbitrary<'a>>(data: &'a [u8]) -> Option<T> {
    arbitrary::Unstructured::new(data).arbitrary().ok()
}
