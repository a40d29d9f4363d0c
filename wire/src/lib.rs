//! The language of the ntrace channel: what is written to `/dev/ntrace`, and what is read from it.
//!
//! # Messages
//!
//! Both directions are streams of messages. A message is a row of 64-bit words in the byte order of the machine:
//!
//! | word | what |
//! |---|---|
//! | 0 | bits 0 to 31: words in this message, these two included; bits 32 to 47: its code; bits 48 to 63: its flags |
//! | 1 | its tag: of a command the sender's choice, of a reply that of the command, of an event its sequence number |
//! | 2.. | the fields, one word each in the order of their declaration: a word is its value, a blob is its length in bytes |
//! | then | the contents of the blobs, one behind the other, and zeroes up to a whole word |
//!
//! Boundaries of writes and reads mean nothing: a message may be split, and many may go at once. What is not there yet is
//! [`Split::Incomplete`]; what can never become a message is an [`Error`], and ends the stream. A code that nobody
//! declares, or fields that do not fit their declaration, end only the command: its length tells where the next one begins.
//!
//! # Commands and replies
//!
//! Every command is answered by one message of the same code and tag, with a [`Status`] and a detail before its fields; the fields are there
//! only where the status is [`Status::Done`]. Commands are carried out in the order in which they come. One that fails
//! does not keep the next from being carried out, unless it says so: behind a command with the flag [`flag::THEN`] the next is
//! carried out only where this one was done, and else answered [`Status::Skipped`], and so on to the first without that flag.
//!
//! # The ring
//!
//! Events may be had without a system call, too: see [`ring`].
//!
//! # The vocabulary
//!
//! [`commands`] and [`events`] declare it. A declaration is the only place that knows of a command's code, fields and meaning:
//! the function that the kernel calls for it, the builder and the parser of users, the listing that [`commands::Command::Describe`]
//! gives and the manual page all come from it. Codes and shapes never change; what changes gets a new code.
#![no_std]
#![forbid(unsafe_code)]

pub mod commands;
mod declare;
mod error;
pub mod events;
mod field;
pub mod flag;
pub mod manual;
mod message;
pub mod ring;
pub mod site;
mod status;
pub mod text;

pub use declare::{Declaration, Documentation, Parameter};
pub use error::Error;
pub use field::{Field, Kind};
pub use message::{Header, MOST_WORDS, Message, Sink, Split, encode, split};
pub use status::{Failure, Status};

/// What `hello` tells of this vocabulary: grows with each code, and each meaning of words within one, that is added.
pub const VERSION: u64 = 3;
