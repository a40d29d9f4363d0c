//! The language of the ntrace channel: commands, replies and events that cross `/dev/ntrace`.
//!
//! ntrace is a kernel module that sets breakpoints in processes and counts or reports their hits. A program opens its device,
//! writes commands and reads replies and events. This crate defines these messages for both sides: the kernel module parses commands and
//! builds replies with it, programs do the reverse. The manual page ntrace(4) is generated from the same declarations.
//!
//! # Example
//!
//! A command is encoded into any [`Sink`], as a `Vec<u8>` is with the feature `alloc`; [`split`] takes messages from what was read.
//!
//! ```
//! use wire::commands::Command;
//! use wire::{Split, split};
//!
//! let mut buffer = Vec::new();
//! Command::Resume { thread: 1234 }.encode(&mut buffer, 7, 0)?;
//! assert_eq!(buffer.len(), 3 * 8);
//!
//! let Ok(Split::Message(message, rest)) = split(&buffer) else { panic!("a whole message") };
//! assert_eq!((message.header.tag, rest.len()), (7, 0));
//! assert_eq!(Command::parse(&message)?, Command::Resume { thread: 1234 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Messages
//!
//! Each direction is a stream of messages. A message consists of 64-bit words in the byte order of the machine:
//!
//! | word | content |
//! |---|---|
//! | 0 | bits 0 to 31: number of words in the message, including the first two; bits 32 to 47: code; bits 48 to 63: flags |
//! | 1 | tag: the sender's choice in a command, copied from the command in a reply, a sequence number in an event |
//! | 2.. | the fields in the order of their declaration, one word each: a word's value, or a blob's length in bytes |
//! | then | the contents of the blobs without gaps, then zeroes up to a whole word |
//!
//! Messages may be split or joined across read and write calls. [`split`] returns [`Split::Incomplete`] for the beginning of a message,
//! and an [`Error`] for bytes that can never become one; such an error ends the stream. An undeclared code, or fields that do not fit
//! their declaration, fail that command alone: the length in word 0 tells where the next message begins.
//!
//! # Commands and replies
//!
//! Each command gets one reply with the command's code and tag. A [`Status`] and a detail precede the reply's declared fields, which are
//! present only if the status is [`Status::Done`]. The kernel carries commands out in the order in which they arrive. A failed
//! command does not affect later ones, unless it has the flag [`flag::THEN`]: then the next command is carried out only if this one
//! succeeded. Otherwise that command gets [`Status::Skipped`], and so do the following ones up to the first without that flag.
//!
//! # The ring
//!
//! A program can map the device's file and take events from shared memory without system calls: see [`ring`].
//!
//! # The vocabulary
//!
//! [`commands`] and [`events`] declare all messages. Each declaration is the only place that defines a code, its fields and its meaning:
//! the function that the kernel calls for a command ([`commands::Serve`]), the encoder, the parser, the listing that
//! [`commands::Command::Describe`] returns and the manual page are made from it. Codes and shapes never change. A changed command gets
//! a new code.
//!
//! The blobs of some messages consist of words; [`blob`], [`site`] and [`rule`] read them.
//!
//! More examples are in the folder `examples`: `commands_as_bytes` shows the bytes of commands, `channel_in_memory` has both sides of a channel
//! in one program.
//!
//! # Features
//!
//! - `alloc`: [`Sink`] for `Vec<u8>`, and [`blob`]'s `from_words`.
//!
//! # Guarantees
//!
//! - The crate is `no_std`, allocates nothing without the feature `alloc`, has no dependency and no `unsafe` code, and cannot panic.
//! - No input is trusted: each length is checked against the bytes that are present.
//! - The minimal Rust version is 1.85. Raising it is a minor version change.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod blob;
pub mod buffer;
pub mod commands;
mod declare;
mod error;
pub mod events;
mod field;
pub mod flag;
pub mod manual;
mod message;
pub mod ring;
pub mod rule;
pub mod site;
mod status;
pub mod text;

pub use declare::{Declaration, Documentation, Parameter};
pub use error::{EncodeError, Error};
pub use field::{Field, Kind};
pub use message::{Header, MOST_WORDS, Message, Sink, Split, encode, split};
pub use status::{Failure, Status};

/// The version of this vocabulary, which `hello` returns. It grows with each new code, and with each new meaning of a word in an existing
/// message.
pub const VERSION: u64 = 7;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
