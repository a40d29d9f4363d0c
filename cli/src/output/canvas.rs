//! The terminal, as the live line draws on it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use console::Term;
use indicatif::TermLike;
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::tcgetpgrp;

use super::streams::stderr;

/// Whether the terminal shows something that was drawn.
pub(super) static SHOWN: AtomicBool = AtomicBool::new(false);

/// Collects the characters of one drawing of the live line, and writes them by one call if this job is in the terminal's foreground.
///
/// No call writes to a terminal only if a job is in the foreground, so that the user may put the job in the background between the question
/// and the write. Nothing is computed between them.
#[derive(Debug)]
pub(super) struct Canvas {
    /// The process group of this job.
    group: i32,
    drawn: Mutex<String>,
}

impl Canvas {
    /// Standard error of the job with the process group `group`.
    pub(super) fn new(group: i32) -> Canvas {
        Canvas { group, drawn: Mutex::default() }
    }

    /// Whether the terminal's foreground process group is this job, and the terminal edits lines and echoes input. Editors, pagers and
    /// prompts for passwords switch that off (termios(3)), and shells put other jobs in the foreground.
    fn is_foreground(&self) -> bool {
        let terminal = stderr();
        let lines = LocalFlags::ICANON | LocalFlags::ECHO;
        tcgetattr(&terminal).is_ok_and(|mode| mode.local_flags.contains(lines))
            && tcgetpgrp(&terminal).is_ok_and(|group| group.as_raw() == self.group)
    }

    fn draw(&self, text: &str) -> io::Result<()> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }

    /// Draws the sequence that moves the cursor (ECMA-48).
    fn move_cursor(&self, count: usize, direction: char) -> io::Result<()> {
        if count == 0 { Ok(()) } else { self.draw(&format!("\x1b[{count}{direction}")) }
    }
}

impl TermLike for Canvas {
    fn width(&self) -> u16 {
        Term::stderr().size().1
    }
    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'A')
    }
    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'B')
    }
    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'C')
    }
    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'D')
    }
    fn write_line(&self, text: &str) -> io::Result<()> {
        self.draw(text)?;
        self.draw("\n")
    }
    fn write_str(&self, text: &str) -> io::Result<()> {
        self.draw(text)
    }
    fn clear_line(&self) -> io::Result<()> {
        self.draw("\r\x1b[2K")
    }
    fn flush(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut *self.drawn.lock().unwrap_or_else(PoisonError::into_inner));
        if drawn.is_empty() || !self.is_foreground() {
            return Ok(());
        }
        SHOWN.store(true, Ordering::Relaxed);
        stderr().write_all(drawn.as_bytes())
    }
}
