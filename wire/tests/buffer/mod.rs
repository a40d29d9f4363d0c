//! A sink in memory.
#![allow(dead_code)]

use std::convert::Infallible;

use wire::{Message, Sink, Split, split};

#[derive(Default)]
pub(crate) struct Buffer(pub(crate) Vec<u8>);

impl Sink for Buffer {
    type Error = Infallible;

    fn put(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.extend(bytes);
        Ok(())
    }
}

/// The bytes of words.
pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The only message of a stream.
pub(crate) fn message(stream: &[u8]) -> Message<'_> {
    match split(stream) {
        Ok(Split::Message(message, b"")) => message,
        other => panic!("{other:?}"),
    }
}
