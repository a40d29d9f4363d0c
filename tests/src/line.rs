//! A channel on which events come, too.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};

use wire::commands::{Command, Reply};
use wire::events::{self, Event};
use wire::{Failure, Message, Split, split};

use crate::channel::{Channel, open, stream};

/// A channel, with the events that came before a reply that was waited for.
pub struct Line {
    file: Channel,
    kept: Vec<u8>,
    told: VecDeque<Vec<u8>>,
}

impl Line {
    /// Opens one.
    ///
    /// # Panics
    /// Where it cannot be opened.
    pub fn open() -> Line {
        Line::of(open())
    }

    /// One that is open.
    pub fn of(file: impl Into<Channel>) -> Line {
        Line { file: file.into(), kept: Vec::new(), told: VecDeque::new() }
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Attaches a process with bits of `option`; returns the number that commands use for it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn attach(&mut self, process: u32, options: u64) -> Result<u64, Failure> {
        self.ask(Command::Attach { process: process.into(), options }, |told| match told? {
            Reply::Attach { debuggee } => Ok(debuggee),
            other => panic!("{other:?}"),
        })
    }

    /// Writes a command whose reply is empty.
    ///
    /// # Errors
    /// The kernel's.
    pub fn done(&mut self, command: Command<'_>) -> Result<(), Failure> {
        self.ask(command, |told| told.map(drop))
    }

    /// Writes a command and hands its reply to `look`.
    ///
    /// # Panics
    /// Where the channel does not work.
    pub fn ask<R>(&mut self, command: Command<'_>, look: impl FnOnce(Result<Reply<'_>, Failure>) -> R) -> R {
        self.write(command);
        self.reply(look)
    }

    /// Writes a command, and leaves its reply unread.
    ///
    /// # Panics
    /// Where the channel does not work.
    pub fn write(&mut self, command: Command<'_>) {
        self.file.write_all(&stream(&[(command, 0)])).expect("the file can be written");
    }

    /// Hands the next reply to `look`.
    ///
    /// # Panics
    /// Where the channel does not work.
    pub fn reply<R>(&mut self, look: impl FnOnce(Result<Reply<'_>, Failure>) -> R) -> R {
        loop {
            let bytes = self.next();
            let message = whole(&bytes);
            if message.header.code < events::FIRST {
                return look(Reply::parse(&message).expect("a reply"));
            }
            self.told.push_back(bytes);
        }
    }

    /// Hands the next event to `look`.
    ///
    /// # Panics
    /// Where something else comes.
    pub fn event<R>(&mut self, look: impl FnOnce(Event<'_>) -> R) -> R {
        let bytes = self.told.pop_front().unwrap_or_else(|| self.next());
        look(Event::parse(&whole(&bytes)).expect("an event"))
    }

    /// Waits for a held thread; returns its number, the reason and the address.
    ///
    /// # Panics
    /// Where something else comes but threads that begin or end.
    pub fn held(&mut self) -> (u64, u64, u64) {
        loop {
            let held = self.event(|event| match event {
                Event::Held { thread, reason, address, .. } => Some((thread, reason, address)),
                Event::ThreadStarted { .. } | Event::ThreadEnded { .. } => None,
                other => panic!("{other:?}"),
            });
            if let Some(held) = held {
                return held;
            }
        }
    }

    /// The bytes of the next message.
    fn next(&mut self) -> Vec<u8> {
        loop {
            if let Split::Message(_, rest) = split(&self.kept).expect("the kernel writes messages") {
                let rest = rest.to_vec();
                let length = self.kept.len() - rest.len();
                let mut message = std::mem::replace(&mut self.kept, rest);
                message.truncate(length);
                return message;
            }
            let mut piece = [0; 4096];
            let count = self.file.read(&mut piece).expect("the file can be read");
            assert_ne!(count, 0, "a channel has no end");
            self.kept.extend(&piece[..count]);
        }
    }
}

/// The one message that these bytes are.
///
/// # Panics
/// Where they are something else.
pub fn whole(bytes: &[u8]) -> Message<'_> {
    match split(bytes) {
        Ok(Split::Message(message, [])) => message,
        other => panic!("no message: {other:?}"),
    }
}
