//! A line on the terminal that shows the progress of a run.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::tcgetpgrp;

use super::escape;
use super::streams::stderr;

/// The time between two updates of the line.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// Erases the live line (ECMA-48: carriage return, erase in line).
const ERASE: &str = "\r\x1b[K";

/// Whether the terminal shows a live line.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// A line on standard error that is updated repeatedly and erased when it is dropped.
///
/// It is written only to a terminal whose foreground job is this one, and not while a program there reads the keyboard without line
/// editing.
pub(crate) struct Live {
    bar: ProgressBar,
    /// The process group of this job.
    group: i32,
    shown: Instant,
}

impl Live {
    /// Returns a line for the job with the process group `group`. `None` if standard error is not a terminal, or if the terminal cannot
    /// move the cursor (`TERM=dumb`).
    pub(crate) fn new(group: i32) -> Option<Live> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        (!bar.is_hidden()).then(|| Live { bar, group, shown: Instant::now() })
    }

    /// Whether it is time to update the line.
    pub(crate) fn is_due(&self) -> bool {
        self.shown.elapsed() >= TICK
    }

    /// Writes the line, if it may be written.
    pub(crate) fn show(&mut self, text: impl Display) {
        self.shown = Instant::now();
        if !self.has_terminal() {
            return;
        }
        let mut line = String::new();
        let _ = escape::push_text(&mut line, text);
        self.bar.set_message(line);
        self.bar.tick();
        SHOWN.store(true, Ordering::Relaxed);
    }

    /// Whether the terminal's foreground process group is this job, and the terminal edits lines and echoes input. Editors, pagers and
    /// prompts for passwords switch that off (termios(3)), and shells put other jobs in the foreground.
    fn has_terminal(&self) -> bool {
        let terminal = stderr();
        let lines = LocalFlags::ICANON | LocalFlags::ECHO;
        tcgetpgrp(&terminal).is_ok_and(|group| group.as_raw() == self.group)
            && tcgetattr(&terminal).is_ok_and(|mode| mode.local_flags.contains(lines))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if SHOWN.swap(false, Ordering::Relaxed) && self.has_terminal() {
            self.bar.finish_and_clear();
        } else {
            // Otherwise the progress bar would erase the line when it is dropped.
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }
}

/// Returns the text that must precede other text on standard error.
pub(super) fn erase() -> &'static str {
    if SHOWN.swap(false, Ordering::Relaxed) { ERASE } else { "" }
}
