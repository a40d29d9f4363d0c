//! `ntrace top`: a view of the locations on the terminal.
//!
//! The worker traces, and tells what it counts through a pipe ([`feed`]). The front has the keyboard and draws. Neither waits for the other.

mod counter;
mod draw;
mod feed;
mod keys;
mod table;

use std::os::fd::BorrowedFd;
use std::process::ExitCode;

use self::feed::{Inbox, Told};
use self::keys::Keys;
use self::table::Table;
use crate::args::TopArgs;
use crate::failure::{Failure, Result};
use crate::output::{Output, Rescue, Screen, is_unicode, keep_messages, kept_messages, keyboard, tell};
use crate::worker::{self, Attendant, End};

/// The view, in the front.
struct View {
    inbox: Inbox,
    table: Table,
    keys: Keys,
    /// The terminal, from the first snapshot until the user leaves.
    screen: Option<Screen>,
    is_over: bool,
    /// Lines for standard error. The front writes them after it has left the view.
    lines: Vec<String>,
}

/// Runs the command.
pub(super) fn run(args: &TopArgs) -> Result<ExitCode> {
    Screen::check()?;
    if args.target.filter.sample.is_some() {
        return Err(Failure::usage("--sample: every hit is counted, in nanoseconds"));
    }
    let (inbox, mut feed) = feed::pipe()?;
    let rescue = Rescue::new();
    let (table, keys) = (Table::default(), Keys::default());
    let mut view = View { inbox, table, keys, screen: None, is_over: false, lines: Vec::new() };
    let work = move |control, heritage| {
        keep_messages();
        let end = counter::run(args, control, heritage, &mut feed);
        rescue.give_back();
        let end = end.unwrap_or_else(|failure| {
            tell(&failure);
            End::Exited(i32::from(failure.status))
        });
        kept_messages().into_iter().for_each(|message| feed.tell(&Told::Line(message)));
        feed.finish();
        Ok(end)
    };
    worker::run_attended(work, &mut view)
}

impl View {
    /// Takes what the worker told. Returns whether there is a snapshot.
    fn take(&mut self) -> bool {
        let mut is_new = false;
        for told in self.inbox.take() {
            match told {
                Told::Line(line) => self.lines.push(line),
                Told::Snapshot(snapshot) => {
                    self.table.update(snapshot);
                    is_new = true;
                }
            }
        }
        is_new
    }
}

impl Attendant for View {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let keyboard = self.screen.as_ref().map(|_| keyboard());
        [self.inbox.as_fd()].into_iter().chain(keyboard).collect()
    }

    fn attend(&mut self) -> Result<bool> {
        let is_new = self.take();
        if self.is_over {
            return Ok(true);
        }
        let View { screen, table, keys, .. } = self;
        let screen = match screen {
            Some(screen) => screen,
            None if is_new => screen.insert(Screen::enter()?),
            None => return Ok(true),
        };
        let pressed = screen.keys().map(|bytes| keys.read(&bytes));
        let goes_on = pressed.is_some_and(|pressed| pressed.into_iter().all(|key| table.press(key)));
        if goes_on {
            screen.draw(|frame| draw::draw(frame, table, is_unicode()))?;
        } else {
            self.leave();
        }
        Ok(goes_on)
    }

    fn leave(&mut self) {
        self.is_over = true;
        self.screen = None;
    }

    fn finish(&mut self) {
        self.take();
        // A closed standard error has no reader.
        if let Ok(mut out) = Output::open(None) {
            let _ = self.lines.drain(..).try_for_each(|line| out.line(line)).and_then(|()| out.flush());
        }
    }
}
