//! `ntrace channel`: the channel of the kernel module by hand.

mod grammar;
mod text;

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Read, Write, stdin};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wire::{Split, events, split};

use self::grammar::{Line, parse};
use crate::failure::{Failure, OWN, Result};
use crate::output::{Output, shown, tell};

const DEVICE: &str = "/dev/ntrace";

/// An open channel, with the bytes read of it that are not shown yet.
struct Channel {
    file: File,
    unread: Vec<u8>,
    /// The events that were shown and that no `show` has waited for. An event may come before the reply to the command that leads to it.
    seen: u64,
}

/// Carries out the lines of standard input. The status tells whether all were.
pub(super) fn run() -> Result<ExitCode> {
    let (mut channel, mut out) = (None, Output::stdout());
    let is_terminal = stdin().is_terminal();
    let mut all_done = true;
    for (number, line) in (1..).zip(stdin().lines()) {
        let line = line.map_err(|error| Failure::own(format!("standard input: {error}")))?;
        let failed = match parse(&line, number) {
            Ok(Line::Nothing) => None,
            Ok(Line::Describe(name)) => {
                let text = text::describe(name.as_deref());
                let unknown = || format!("'{}' is no command and no event", shown(name.unwrap_or_default()));
                match text {
                    Some(text) => text.lines().try_for_each(|line| out.line(format_args!("{line}"))).map(|()| None)?,
                    None => Some(unknown()),
                }
            }
            Ok(Line::Show(count)) => {
                Channel::of(&mut channel)?.show(count, &mut out)?;
                None
            }
            Ok(Line::Send(bytes)) => {
                all_done &= Channel::of(&mut channel)?.send(&bytes, number, &mut out)?;
                None
            }
            Err(failed) => Some(failed),
        };
        out.flush()?;
        if let Some(failed) = failed {
            all_done = false;
            let place = if is_terminal { String::new() } else { format!("line {number}: ") };
            tell(format_args!("{place}{failed}"));
        }
    }
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::from(OWN) })
}

impl Channel {
    /// The channel, which is opened when it is first needed.
    fn of(channel: &mut Option<Channel>) -> Result<&mut Channel> {
        if channel.is_none() {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
                .open(DEVICE);
            let file = file.map_err(|error| match error.kind() {
                ErrorKind::NotFound => Failure::own(format!("{DEVICE}: the kernel module is not loaded")),
                _ => Failure::own(format!("{DEVICE}: {error}")),
            })?;
            *channel = Some(Channel { file, unread: Vec::new(), seen: 0 });
        }
        channel.as_mut().ok_or_else(|| Failure::own(DEVICE))
    }

    /// Writes a command, and shows messages up to its reply. Returns whether the command was carried out.
    fn send(&mut self, bytes: &[u8], tag: u64, out: &mut Output<'_>) -> Result<bool> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Too much is unread for a further command.
                    self.read()?;
                    self.wait(PollFlags::POLLIN | PollFlags::POLLOUT)?;
                }
                Err(error) => return Err(failed(&error)),
            }
        }
        loop {
            while let Some((is_event, is_failure, its_tag)) = self.next(out)? {
                if !is_event && its_tag == tag {
                    return Ok(!is_failure);
                }
            }
            out.flush()?;
            if !self.read()? {
                self.wait(PollFlags::POLLIN)?;
            }
        }
    }

    /// Shows the events that are there, and waits until `count` were shown that no other `show` has waited for. Without a number the next
    /// `show` counts from here.
    fn show(&mut self, count: Option<u64>, out: &mut Output<'_>) -> Result<()> {
        loop {
            let more = self.read()?;
            while self.next(out)?.is_some() {}
            if !more && self.seen >= count.unwrap_or(0) {
                self.seen = count.map_or(0, |count| self.seen - count);
                return Ok(());
            }
            if !more {
                out.flush()?;
                self.wait(PollFlags::POLLIN)?;
            }
        }
    }

    /// Shows the next message that was read. Returns whether it is an event, whether it tells of a failure, and its tag.
    fn next(&mut self, out: &mut Output<'_>) -> Result<Option<(bool, bool, u64)>> {
        let wrong = |_| Failure::own(format!("{DEVICE}: what was read is no message"));
        let Split::Message(message, rest) = split(&self.unread).map_err(wrong)? else { return Ok(None) };
        let (header, length) = (message.header, self.unread.len() - rest.len());
        let (text, is_failure) = text::message(header, self.unread.get(..length).unwrap_or_default());
        self.unread.drain(..length);
        text.lines().try_for_each(|line| out.line(format_args!("{line}")))?;
        let is_event = header.code >= events::FIRST;
        self.seen += u64::from(is_event);
        Ok(Some((is_event, is_failure, header.tag)))
    }

    /// Reads what there is, at most 64 KiB. Returns whether there was anything.
    fn read(&mut self) -> Result<bool> {
        let before = self.unread.len();
        self.unread.resize(before + (64 << 10), 0);
        let read = self.file.read(self.unread.get_mut(before..).unwrap_or_default());
        self.unread.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(count) => Ok(count > 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }

    fn wait(&self, events: PollFlags) -> Result<()> {
        match poll(&mut [PollFd::new(self.file.as_fd(), events)], PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(failed(&error.into())),
        }
    }
}

fn failed(error: &std::io::Error) -> Failure {
    Failure::own(format!("{DEVICE}: {error}"))
}
