//! Everything that the command prints. Recordings are the exception: they are bytes of a format of their own.
//!
//! A debuggee chooses the names of its symbols, files, threads and programs, and those names may contain control characters that a terminal
//! obeys. No other module has a writer to a terminal: callers hand over text line by line ([`Output::line`], [`tell`]), and this module
//! escapes each line.

mod busy;
mod canvas;
mod csv;
mod duration;
mod escape;
mod ink;
mod live;
mod message;
mod screen;
mod streams;
mod summary;
mod writer;

pub(crate) use self::busy::{Busy, Patience};
pub(crate) use self::csv::record;
pub(crate) use self::duration::duration;
pub(crate) use self::escape::escaped;
pub(crate) use self::ink::{Colour, Ink, set_colour};
pub(crate) use self::live::{Live, TICK};
pub(crate) use self::message::{keep_messages, kept_messages, shown, tell};
pub(crate) use self::screen::{Rescue, Screen, is_unicode, keyboard};
pub(crate) use self::summary::{Cost, Summary};
pub(crate) use self::writer::Output;
pub(crate) use ubp_symbols::utf8;
