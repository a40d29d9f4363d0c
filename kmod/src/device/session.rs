// SPDX-License-Identifier: GPL-2.0

//! A session: what one open file of the device is.

use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use wire::commands::Sequence;
use wire::text::Text;
use wire::{Field, Header, Split, Status};

use crate::channel::channel::Channel;
use crate::channel::queue::Queue;
use crate::channel::wait_count::Waiters;
use crate::device::commands::Server;
use crate::ffi::{self, Mapping};
use crate::mm::current::Buffer;
use crate::process::debuggee::Opener;

/// Bytes that go through the kernel's memory at once.
const PIECE: usize = 64 << 10;
/// Unread bytes with which no further command is carried out: a reply may be as long as a message.
pub(crate) const FULL: usize = 1 << 20;

/// A session. It ends when the last descriptor of its file is closed, whatever closes it.
#[pin_data]
pub(crate) struct Session {
    #[pin]
    commands: Mutex<Commands>,
    channel: Arc<Channel>,
    /// What goes to a reader next: one reads at a time, and no command waits for a reader's memory.
    #[pin]
    piece: Mutex<KVVec<u8>>,
}

/// The stream of commands.
struct Commands {
    /// What was written and is not carried out: less than a message.
    kept: Queue,
    sequence: Sequence,
    server: Server,
    /// The reply that is being made.
    reply: Queue,
    /// No message can begin where the stream stands.
    broken: bool,
}

impl Session {
    /// One that traces nothing.
    pub(crate) fn new(opener: Opener) -> Result<Pin<KBox<Session>>> {
        let channel = Channel::new(opener)?;
        let server = Server::new(channel.clone());
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

    /// Bytes that a reader finds, and who is told when there are some.
    pub(crate) fn unread(&self) -> &Waiters {
        self.channel.unread()
    }

    /// Whether a reader finds something, in the ring or not.
    pub(crate) fn is_readable(&self) -> bool {
        self.channel.is_readable()
    }

    /// Shows the ring of events in a mapping.
    ///
    /// # Safety
    /// The mapping is one that nobody uses yet.
    pub(crate) unsafe fn map(&self, vma: *mut Mapping) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.channel.map(vma) }
    }

    /// Whether commands are carried out without waiting for a reader.
    pub(crate) fn is_writable(&self) -> bool {
        self.unread().get() < FULL
    }

    /// Carries out what a user writes; says how many bytes of it were taken.
    pub(crate) fn write(&self, mut from: Buffer, waits: bool) -> Result<usize> {
        let length = from.len();
        loop {
            // Never with a lock: who waits for a lock cannot be interrupted.
            if !self.is_writable() {
                if !waits {
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
                    // What was taken before is carried out already.
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

    /// Carries out the commands that are there; says how many of the last bytes must be written again, and are forgotten:
    /// the commands behind one with which too much is unread, or over which the writer is killed. That one is not answered:
    /// what it could not do says nothing of the debuggee.
    fn carry_out(&self, commands: &mut Commands) -> Result<usize> {
        let Commands { kept, sequence, server, reply, broken } = commands;
        // The first one began when there was room.
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
                // Half a reply would make all behind it unreadable.
                reply.cut(0);
                let status = if error.is_none() { Status::Limit } else { Status::NoMemory };
                let fields = [Field::Word(status as u64), Field::Word(u64::from(wire::MOST_WORDS))];
                let head = Header { flags: 0, ..message.header };
                wire::encode(reply, head, &fields).map_err(|error| error.unwrap_or(EINVAL))?;
            }
            // SAFETY: it looks at the current thread.
            let killed = unsafe { ffi::ntrace_killed() };
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

    /// Gives a reader what there is; waits for something where it wants to.
    pub(crate) fn read(&self, mut to: Buffer, waits: bool) -> Result<usize> {
        let length = to.len();
        loop {
            if self.unread().get() == 0 && length > 0 {
                if !waits {
                    return Err(EAGAIN);
                }
                self.unread().wait(1..usize::MAX)?;
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

    /// A few lines for /proc/PID/fdinfo.
    pub(crate) fn describe<T: Text>(&self, out: &mut T) -> Result<(), T::Error> {
        for (name, value) in [("ntrace-version", wire::VERSION), ("ntrace-unread", self.unread().get() as u64)] {
            out.put(name)?;
            out.put(":\t")?;
            out.put_decimal(value)?;
            out.put("\n")?;
        }
        Ok(())
    }
}
