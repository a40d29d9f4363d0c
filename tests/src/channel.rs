//! A channel to the kernel module.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::ops::{Deref, DerefMut};

use wire::commands::{Command, Reply};
use wire::{Failure, Split, events, split};

use crate::in_turn;

/// The module's device.
pub const DEVICE: &str = "/dev/ntrace";

/// The bytes of commands with their flags, of which each has its place as tag.
///
/// # Panics
/// Where one is longer than a message may be.
pub fn stream(commands: &[(Command<'_>, u16)]) -> Vec<u8> {
    let mut buffer = Vec::new();
    for (tag, (command, flags)) in commands.iter().enumerate() {
        assert_eq!(command.encode(&mut buffer, tag as u64, *flags), Ok(()));
    }
    buffer
}

/// An open channel, whose session has ended when it was dropped.
#[derive(Debug)]
pub struct Channel(Option<File>);

impl Deref for Channel {
    type Target = File;

    fn deref(&self) -> &File {
        self.0.as_ref().expect("it is open until it is dropped")
    }
}

impl DerefMut for Channel {
    fn deref_mut(&mut self) -> &mut File {
        self.0.as_mut().expect("it is open until it is dropped")
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        in_turn(|| drop(self.0.take()));
    }
}

impl From<File> for Channel {
    fn from(file: File) -> Channel {
        Channel(Some(file))
    }
}

/// Opens a channel.
///
/// # Panics
/// Where it cannot be opened.
pub fn open() -> Channel {
    OpenOptions::new().read(true).write(true).open(DEVICE).expect("the device opens").into()
}

/// The next reply with its tag, handed to `look`; events before it are passed over, and what was read of the one behind it stays in `kept`.
///
/// # Panics
/// Where what is read is no reply.
pub fn reply<R>(file: &mut File, kept: &mut Vec<u8>, look: impl FnOnce(u64, Result<Reply<'_>, Failure>) -> R) -> R {
    loop {
        if let Split::Message(message, rest) = split(kept).expect("the kernel writes messages") {
            let rest = rest.len();
            if message.header.code < events::FIRST {
                let looked = look(message.header.tag, Reply::parse(&message).expect("a reply"));
                kept.drain(..kept.len() - rest);
                return looked;
            }
            kept.drain(..kept.len() - rest);
            continue;
        }
        let mut piece = [0; 4096];
        let count = file.read(&mut piece).expect("the file can be read");
        assert_ne!(count, 0, "a channel has no end");
        kept.extend(&piece[..count]);
    }
}

/// Writes a command and hands its reply to `look`.
///
/// # Panics
/// Where the channel does not work.
pub fn ask<R>(file: &mut File, command: Command<'_>, look: impl FnOnce(Result<Reply<'_>, Failure>) -> R) -> R {
    file.write_all(&stream(&[(command, 0)])).expect("the file can be written");
    reply(file, &mut Vec::new(), |_, told| look(told))
}

/// Attaches a process; returns the number that commands use for it.
///
/// # Errors
/// The kernel's.
pub fn attach(file: &mut File, process: u32) -> Result<u64, Failure> {
    ask(file, Command::Attach { process: process.into(), options: 0 }, |told| match told? {
        Reply::Attach { debuggee } => Ok(debuggee),
        other => panic!("{other:?}"),
    })
}

/// Tests of a machine with the module; on others each is skipped by name.
#[macro_export]
macro_rules! channel_tests {
    ($($(#[$about:meta])* $name:ident $body:block)*) => {$(
        $(#[$about])*
        #[test]
        fn $name() {
            if !std::path::Path::new($crate::channel::DEVICE).exists() {
                return $crate::skip(stringify!($name), "no /dev/ntrace");
            }
            $body
        }
    )*};
}
