//! The channel: an open file of the module's device. Commands are written to it, replies and events are read from it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use wire::commands::{Command, Reply};
use wire::events::{self, Event};
use wire::{Failure, Split, split};

use super::recorder::ToldHit;
use super::ruled::Ruled;
use super::said::{Said, signal_info, syscall};
use super::wake::Wake;
use crate::backend::Blocking;
use crate::{Error, Result};

/// The module's device.
const DEVICE: &str = "/dev/ntrace";
/// Bytes of one read.
const PIECE: usize = 64 << 10;
/// Reads at once at most, so that who asks for an event gets an answer while threads hit breakpoints.
const READS: usize = 64;
/// Milliseconds between two looks at what nothing notifies of.
const MOMENT: libc::c_int = 20;

/// An event that was read, kept until it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    Held {
        time: u64,
        debuggee: u64,
        thread: u64,
        reason: u64,
        address: u64,
    },
    Forked {
        debuggee: u64,
        process: u64,
        child: u64,
    },
    Executed {
        debuggee: u64,
        before: u64,
    },
    Followed {
        time: u64,
        debuggee: u64,
        process: u64,
        follow: u64,
    },
    ThreadStarted {
        debuggee: u64,
        thread: u64,
    },
    ThreadEnded {
        time: u64,
        debuggee: u64,
        thread: u64,
    },
    Ended {
        time: u64,
        debuggee: u64,
        status: u64,
    },
    /// A system call, a signal or an access of a thread, at which it is about to be held if the session asks for that.
    Said {
        time: u64,
        debuggee: u64,
        thread: u64,
        what: Said,
    },
    Lost {
        count: u64,
    },
}

/// An open channel.
#[derive(Debug)]
pub(super) struct Channel {
    file: File,
    wake: Wake,
    state: RefCell<State>,
    ruled: RefCell<Ruled>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that were read and are not a whole message yet.
    unread: Vec<u8>,
    told: VecDeque<Told>,
    hits: Vec<ToldHit>,
    /// Whether lost hits are counted; otherwise a loss is an event.
    counts_lost: bool,
    lost: u64,
    /// Tag of the last command.
    tag: u64,
}

impl Channel {
    /// Opens a channel.
    pub(super) fn open() -> Result<Channel> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
        let file = file.map_err(|source| Error::File { path: DEVICE.into(), source })?;
        let wake = Wake::new(file.as_fd())?;
        Ok(Channel { file, wake, state: RefCell::default(), ruled: RefCell::default() })
    }

    /// The rules that are conditions of breakpoints.
    pub(super) fn ruled(&self) -> &RefCell<Ruled> {
        &self.ruled
    }

    /// A descriptor that is readable when there is an event, or a reply that nobody waits for.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Sets whether [`Channel::as_fd`] is readable even if nothing can be read from the file.
    pub(super) fn set_awake(&self, awake: bool) {
        self.wake.set(awake);
    }

    /// Whether an event was read and not taken yet.
    pub(super) fn has_told(&self) -> bool {
        !self.state.borrow().told.is_empty()
    }

    /// Sends a command whose reply is ignored. Returns the command's tag.
    pub(super) fn post(&self, command: Command<'_>) -> Result<u64> {
        let mut state = self.state.borrow_mut();
        state.tag += 1;
        let tag = state.tag;
        let mut buffer = Vec::new();
        if command.encode(&mut buffer, tag, 0).is_err() {
            return Err(broken(io::Error::from(ErrorKind::FileTooLarge)));
        }
        let mut rest = buffer.as_slice();
        while !rest.is_empty() {
            match (&self.file).write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                // The module accepts no command while too many replies and events are unread.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.block(libc::POLLIN | libc::POLLOUT)?;
                    self.fill(&mut state)?;
                    state.sort(0, &mut |_| ())?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(tag)
    }

    /// Sends a command, waits for its reply, and passes the reply to `look`.
    pub(super) fn ask<R>(&self, command: Command<'_>, look: impl FnOnce(Result<Reply<'_>, Failure>) -> R) -> Result<R> {
        let mut look = Some(look);
        let mut answer = None;
        self.ask_for(command, &mut |reply| answer = look.take().map(|look| look(reply)))?;
        answer.ok_or_else(|| broken(io::Error::from(ErrorKind::UnexpectedEof)))
    }

    /// Does what [`Channel::ask`] does, compiled once for all replies.
    fn ask_for(&self, command: Command<'_>, look: &mut dyn FnMut(Result<Reply<'_>, Failure>)) -> Result<()> {
        let tag = self.post(command)?;
        let mut state = self.state.borrow_mut();
        while !state.sort(tag, look)? {
            if !self.fill(&mut state)? {
                self.block(libc::POLLIN)?;
            }
        }
        self.wake.set(!state.told.is_empty());
        Ok(())
    }

    /// The next event; waits for one if the call may block.
    pub(super) fn next(&self, blocking: Blocking<'_>) -> Result<Option<Told>> {
        let mut state = self.state.borrow_mut();
        loop {
            if let Some(told) = state.told.pop_front() {
                return Ok(Some(told));
            }
            if self.fill(&mut state)? {
                state.sort(0, &mut |_| ())?;
                if !blocking.may_block() && state.told.is_empty() {
                    return Ok(None);
                }
            } else if blocking.may_block() {
                self.block(libc::POLLIN)?;
            } else {
                return Ok(None);
            }
        }
    }

    /// Reads what is available; returns whether there was anything.
    fn fill(&self, state: &mut State) -> Result<bool> {
        let mut some = false;
        for _ in 0..READS {
            let before = state.unread.len();
            state.unread.resize(before + PIECE, 0);
            let read = (&self.file).read(state.unread.get_mut(before..).unwrap_or_default());
            state.unread.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(count) => {
                    some |= count > 0;
                    if count < PIECE {
                        return Ok(some);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(some),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(some)
    }

    /// Reads what there is, and keeps it.
    pub(super) fn gather(&self) -> Result<()> {
        let mut state = self.state.borrow_mut();
        if self.fill(&mut state)? {
            state.sort(0, &mut |_| ())?;
        }
        self.wake.set(!state.told.is_empty());
        Ok(())
    }

    /// Takes the hits that were read.
    pub(super) fn take_hits(&self) -> Vec<ToldHit> {
        std::mem::take(&mut self.state.borrow_mut().hits)
    }

    /// Sets whether lost hits are counted; otherwise a loss is an event.
    pub(super) fn count_lost(&self, counts: bool) {
        self.state.borrow_mut().counts_lost = counts;
    }

    /// The number of lost hits.
    pub(super) fn lost(&self) -> u64 {
        self.state.borrow().lost
    }

    /// Puts taken events back, before all others.
    pub(super) fn put_back(&self, mut told: VecDeque<Told>) {
        let mut state = self.state.borrow_mut();
        told.append(&mut state.told);
        state.told = told;
        self.wake.set(!state.told.is_empty());
    }

    /// Waits until the channel or another descriptor is readable, at most [`MOMENT`].
    pub(super) fn wait_beside(&self, other: BorrowedFd<'_>) -> Result<()> {
        poll([(self.file.as_fd(), libc::POLLIN), (other, libc::POLLIN)], MOMENT)
    }

    fn block(&self, events: libc::c_short) -> Result<()> {
        poll([(self.file.as_fd(), events)], -1)
    }
}

/// Waits until one of the descriptors is ready, at most `most` milliseconds unless that is negative.
fn poll<const COUNT: usize>(wanted: [(BorrowedFd<'_>, libc::c_short); COUNT], most: libc::c_int) -> Result<()> {
    let mut wanted = wanted.map(|(file, events)| libc::pollfd { fd: file.as_raw_fd(), events, revents: 0 });
    // SAFETY: the pointer is to `COUNT` live structures.
    if unsafe { libc::poll(wanted.as_mut_ptr(), COUNT as libc::nfds_t, most) } >= 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.kind() == ErrorKind::Interrupted => Ok(()),
        error => Err(broken(error)),
    }
}

impl State {
    /// Sorts messages that were read: events are kept, the reply with this tag is passed to `look`, other replies are ignored. Returns
    /// whether that reply was among them.
    fn sort(&mut self, tag: u64, look: &mut dyn FnMut(Result<Reply<'_>, Failure>)) -> Result<bool> {
        let wrong = |error: wire::Error| broken(io::Error::new(ErrorKind::InvalidData, format!("{error:?}")));
        let mut rest = self.unread.as_slice();
        let mut is_there = false;
        while let Split::Message(message, behind) = split(rest).map_err(wrong)? {
            rest = behind;
            if message.header.code >= events::FIRST {
                match Event::parse(&message).map_err(wrong)? {
                    Event::Lost { count } if self.counts_lost => self.lost += count,
                    Event::Hit { time, debuggee, thread, address, registers, memory, .. } => {
                        let (registers, stack) = (registers.to_vec(), memory.to_vec());
                        self.hits.push(ToldHit { time, debuggee, thread, address, registers, stack });
                    }
                    event => self.told.extend(told(&event)),
                }
            } else if message.header.tag == tag {
                look(Reply::parse(&message).map_err(wrong)?);
                is_there = true;
            }
        }
        let left = rest.len();
        self.unread.drain(..self.unread.len() - left);
        Ok(is_there)
    }
}

/// The part of an event that is kept, if any is.
fn told(event: &Event<'_>) -> Option<Told> {
    Some(match *event {
        Event::Held { time, debuggee, thread, reason, address } => {
            Told::Held { time, debuggee, thread, reason, address }
        }
        Event::Forked { debuggee, process, child, .. } => Told::Forked { debuggee, process, child },
        Event::Executed { debuggee, before, .. } => Told::Executed { debuggee, before },
        Event::Followed { time, debuggee, process, follow } => Told::Followed { time, debuggee, process, follow },
        Event::ThreadStarted { debuggee, thread, .. } => Told::ThreadStarted { debuggee, thread },
        Event::ThreadEnded { time, debuggee, thread } => Told::ThreadEnded { time, debuggee, thread },
        Event::Ended { time, debuggee, status } => Told::Ended { time, debuggee, status },
        Event::SyscallEntered { time, debuggee, thread, number, machine, arguments } => {
            Told::Said { time, debuggee, thread, what: Said::Entered(syscall(number, machine, arguments)?) }
        }
        Event::SyscallReturned { time, debuggee, thread, number, machine, result, signal, arguments } => {
            let (syscall, result) = (syscall(number, machine, arguments)?, result as i64);
            Told::Said { time, debuggee, thread, what: Said::Returned { syscall, result, is_handled: signal != 0 } }
        }
        Event::Signalled { time, debuggee, thread, info, .. } => {
            Told::Said { time, debuggee, thread, what: Said::Signal(signal_info(info)) }
        }
        Event::Watched { time, debuggee, thread, watch, .. } => {
            Told::Said { time, debuggee, thread, what: Said::Watched(watch) }
        }
        Event::Lost { count } => Told::Lost { count },
        // A later module may tell of more than this version knows.
        _ => return None,
    })
}

fn broken(source: io::Error) -> Error {
    Error::File { path: DEVICE.into(), source }
}
