//! A line on the terminal that tells how a run goes on.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::tcgetpgrp;

use super::escape;
use super::streams::stderr;

/// Between two looks at what there is to show.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// Takes the live line off the terminal (ECMA-48: carriage return, erase in line).
const ERASE: &str = "\r\x1b[K";

/// Whether a live line stands on the terminal.
static STANDS: AtomicBool = AtomicBool::new(false);

/// A line on standard error that is written again and again; gone when it is dropped.
///
/// It is only written to a terminal that is this job's own, and not while a program there has taken the keyboard for itself.
pub(crate) struct Live {
    bar: ProgressBar,
    /// The process group of the job.
    group: i32,
    shown: Instant,
}

impl Live {
    /// `group` is the job's process group. `None` where standard error is no terminal, or one that cannot go back in a line (`TERM=dumb`).
    pub(crate) fn new(group: i32) -> Option<Live> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        (!bar.is_hidden()).then(|| Live { bar, group, shown: Instant::now() })
    }

    /// Whether the line may be written again.
    pub(crate) fn is_due(&self) -> bool {
        self.shown.elapsed() >= TICK
    }

    /// Writes the line, where it may be written.
    pub(crate) fn show(&mut self, text: impl Display) {
        self.shown = Instant::now();
        if !self.has_terminal() {
            return;
        }
        let mut line = String::new();
        let _ = escape::push_text(&mut line, text);
        self.bar.set_message(line);
        self.bar.tick();
        STANDS.store(true, Ordering::Relaxed);
    }

    /// Whether the terminal's foreground process group is the job's, and what is typed is read by lines and echoed: editors, pagers and
    /// prompts for passwords have it otherwise (termios(3)), and shells make their own jobs the foreground.
    fn has_terminal(&self) -> bool {
        let terminal = stderr();
        let lines = LocalFlags::ICANON | LocalFlags::ECHO;
        tcgetpgrp(&terminal).is_ok_and(|group| group.as_raw() == self.group)
            && tcgetattr(&terminal).is_ok_and(|mode| mode.local_flags.contains(lines))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if STANDS.swap(false, Ordering::Relaxed) && self.has_terminal() {
            self.bar.finish_and_clear();
        } else {
            // A progress bar clears its line when it is dropped.
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }
}

/// What is to be written before anything else on standard error.
pub(super) fn erase() -> &'static str {
    if STANDS.swap(false, Ordering::Relaxed) { ERASE } else { "" }
}
