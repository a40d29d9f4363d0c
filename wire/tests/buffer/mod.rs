//! Messages in memory.
#![allow(dead_code)]

use wire::{Message, Split, split};

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
