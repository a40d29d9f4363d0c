//! A line on the terminal that shows the progress of a run.

use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use console::{Term, is_dumb};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::canvas::{Canvas, SHOWN};
use super::escape;

/// The time between two updates of the line.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// Erases the live line (ECMA-48: carriage return, erase in line).
const ERASE: &str = "\r\x1b[K";

/// A line on standard error that is updated repeatedly and erased when it is dropped.
///
/// It is written only to a terminal whose foreground job is this one, and not while a program there reads the keyboard without line
/// editing.
pub(crate) struct Live {
    bar: ProgressBar,
    shown: Instant,
}

impl Live {
    /// Returns a line for the job with the process group `group`. `None` if standard error is not a terminal, or if the terminal cannot
    /// move the cursor (`TERM=dumb`).
    pub(crate) fn new(group: i32) -> Option<Live> {
        if !Term::stderr().is_term() || is_dumb() {
            return None;
        }
        let target = ProgressDrawTarget::term_like(Box::new(Canvas::new(group)));
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        Some(Live { bar, shown: Instant::now() })
    }

    /// Whether it is time to update the line.
    pub(crate) fn is_due(&self) -> bool {
        self.shown.elapsed() >= TICK
    }

    /// Writes the line, if it may be written.
    pub(crate) fn show(&mut self, text: impl Display) {
        self.shown = Instant::now();
        let mut line = String::new();
        let _ = escape::push_text(&mut line, text);
        self.bar.set_message(line);
        self.bar.tick();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if SHOWN.load(Ordering::Relaxed) {
            self.bar.finish_and_clear();
            SHOWN.store(false, Ordering::Relaxed);
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
