// SPDX-License-Identifier: GPL-2.0

//! A session: an open file of the device.

use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use wire::commands::Sequence;
use wire::text::Text;
use wire::{EncodeError, Field, Header, Split, Status};

use crate::channel::channel::Channel;
use crate::channel::messages::FULL;
use crate::channel::opener::Opener;
use crate::channel::queue::Queue;
use crate::channel::wait_count::WaitCount;
use crate::device::commands::Server;
use crate::ffi::{self, File, PollTable, Vma};
use crate::mm::current::Buffer;
use crate::process::registry::Registry;

/// Bytes that read(2) and write(2) copy at once.
const PIECE: usize = 64 << 10;

/// A session. It ends when the last descriptor of its file is closed.
#[pin_data]
pub(crate) struct Session {
    #[pin]
    commands: Mutex<Commands>,
    channel: Arc<Channel>,
    /// The bytes that a reader copies. One thread reads at a time, and no command waits until a reader's page is in.
    #[pin]
    piece: Mutex<KVVec<u8>>,
}

/// The stream of commands.
struct Commands {
    /// The part of a message that was written so far.
    kept: Queue,
    sequence: Sequence,
    server: Server,
    /// The reply to the current command.
    reply: Queue,
    /// Whether the stream has lost its message boundaries.
    broken: bool,
}

impl Session {
    /// A session without debuggees.
    pub(crate) fn new(opener: Opener) -> Result<Pin<KBox<Session>>> {
        let channel = Channel::new(opener)?;
        let server = Server::new(Registry::new(channel.clone())?);
        let commands =
            Commands { kept: Queue::new(), sequence: Sequence::default(), server, reply: Queue::new(), broken: false };
        KBox::pin_init(
            pin_init!(Session {
                commands <- new_mutex!(commands, "ntrace commands"),
                channel,
                piece <- new_mutex!(KVVec::new(), "ntrace reader"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The number of unread bytes and notes.
    fn unread(&self) -> &WaitCount {
        self.channel.unread()
    }

    /// Adds what readers and writers wait for to what wakes a poller.
    ///
    /// # Safety
    /// `file` is the session's, and is being polled with `table`.
    pub(crate) unsafe fn poll(&self, file: *mut File, table: *mut PollTable) {
        // The session lives as long as its file.
        // SAFETY: the caller vouches for file and table.
        unsafe { self.channel.poll(file, table) };
    }

    /// Whether a poller finds something to read, in the ring or in the stream.
    pub(crate) fn is_readable(&self) -> bool {
        self.channel.note_reader();
        self.channel.is_readable()
    }

    /// Maps the ring of events.
    ///
    /// # Safety
    /// The kernel is creating `vma` by mmap(2), and nobody else uses it yet.
    pub(crate) unsafe fn map(&self, vma: *mut Vma) -> Result {
        self.channel.note_reader();
        // SAFETY: the caller vouches for `vma`.
        unsafe { self.channel.map(vma) }
    }

    /// Whether the next command need not wait until the user reads.
    pub(crate) fn is_writable(&self) -> bool {
        self.unread().get() < FULL
    }

    /// Carries out the commands that a user writes. Returns how many bytes were taken. `blocks` says whether the caller waits until the user
    /// reads.
    pub(crate) fn write(&self, mut from: Buffer, blocks: bool) -> Result<usize> {
        let length = from.len();
        loop {
            // No lock is held while waiting, because a thread that waits for a lock cannot be interrupted.
            if !self.is_writable() {
                if !blocks {
                    return Err(EAGAIN);
                }
                self.unread().wait(0..FULL)?;
            }
            let mut commands = self.commands.lock();
            if commands.broken {
                return Err(EPIPE);
            }
            while !from.is_empty() && self.is_writable() {
                let size = from.len().min(PIECE);
                if let Err(error) = commands.kept.fill(&from, size) {
                    // The commands before are carried out already.
                    return if from.len() < length { Ok(length - from.len()) } else { Err(error) };
                }
                let left = self.carry_out(&mut commands)?;
                from.skip(size - left);
            }
            if from.is_empty() || from.len() < length {
                return Ok(length - from.len());
            }
        }
    }

    /// Carries out the commands in `kept`. Returns how many of the last bytes were dropped and must be written again: the commands
    /// behind one that made too much unread, or behind one during which the writer was killed. That one gets no reply, because its
    /// failure says nothing of the debuggee.
    fn carry_out(&self, commands: &mut Commands) -> Result<usize> {
        let Commands { kept, sequence, server, reply, broken } = commands;
        // There was room for the reply to the first command when it was written.
        let mut first = true;
        loop {
            let (message, length) = match wire::split(kept.rest()) {
                Ok(Split::Message(..)) if !first && !self.is_writable() => {
                    let left = kept.rest().len();
                    kept.take(left);
                    return Ok(left);
                }
                Ok(Split::Message(message, behind)) => (message, kept.rest().len() - behind.len()),
                Ok(Split::Incomplete(_)) => return Ok(0),
                Err(_) => {
                    *broken = true;
                    return Err(EPIPE);
                }
            };
            let before = *sequence;
            reply.cut(0);
            server.refresh();
            if let Err(error) = sequence.serve(server, &message, reply) {
                // Half a reply would make everything behind it unreadable.
                reply.cut(0);
                let status = if error == EncodeError::TooLong { Status::Limit } else { Status::NoMemory };
                let fields = [Field::Word(status as u64), Field::Word(u64::from(wire::MOST_WORDS))];
                let head = Header { flags: 0, ..message.header };
                wire::encode(reply, head, &fields).map_err(|error| error.into_sink().unwrap_or(EINVAL))?;
            }
            // SAFETY: the function looks at the current thread.
            let killed = unsafe { ffi::ntrace_is_killed() };
            if !killed {
                self.channel.put(reply.rest())?;
            }
            kept.take(length);
            if killed {
                *sequence = before;
                let left = kept.rest().len();
                kept.take(left);
                return Ok(left);
            }
            first = false;
        }
    }

    /// Copies unread bytes to a reader. `blocks` says whether the caller waits until there are some.
    pub(crate) fn read(&self, mut to: Buffer, blocks: bool) -> Result<usize> {
        let length = to.len();
        self.channel.note_reader();
        loop {
            if length > 0 && blocks {
                self.channel.wait_to_read()?;
            } else if length > 0 && self.channel.all_unread() == 0 {
                return Err(EAGAIN);
            }
            let mut piece = self.piece.lock();
            while self.channel.next(&mut piece, to.len().min(PIECE))? {
                if let Err(error) = to.write(&piece) {
                    return if to.len() < length { Ok(length - to.len()) } else { Err(error) };
                }
                self.channel.take(piece.len());
            }
            if to.is_empty() || to.len() < length {
                return Ok(length - to.len());
            }
        }
    }

    /// Writes the lines of /proc/PID/fdinfo.
    pub(crate) fn describe<T: Text>(&self, out: &mut T) -> Result<(), T::Error> {
        let (mode, waiting) = self.channel.state();
        let unread = self.channel.all_unread();
        for (name, value) in [("version", wire::VERSION), ("unread", unread as u64), ("waiting", waiting as u64)] {
            out.put("ntrace-")?;
            out.put(name)?;
            out.put(":\t")?;
            out.put_decimal(value)?;
            out.put("\n")?;
        }
        out.put("ntrace-buffer:\t")?;
        out.put(mode.name())?;
        out.put("\n")
    }
}
