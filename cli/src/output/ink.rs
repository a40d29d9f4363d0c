//! Colours of results on a terminal.

use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;

/// When results are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

/// What a part of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    /// The head of a table.
    Head,
    /// A location.
    Location,
    /// An argument, or a returned value.
    Value,
    /// What is of less interest: times, threads, source lines.
    Minor,
}

/// What the user asked for, as the number of a [`Colour`].
static ASKED: AtomicU8 = AtomicU8::new(Colour::Auto as u8);

/// Ends the effect of every other sequence (ECMA-48, SGR).
pub(super) const RESET: &str = "\x1b[0m";

impl Ink {
    /// The sequence that begins this part (ECMA-48, SGR). Plain text has none.
    pub(super) fn sequence(self) -> &'static str {
        match self {
            Ink::Plain => "",
            Ink::Head => "\x1b[1m",
            Ink::Location => "\x1b[36m",
            Ink::Value => "\x1b[32m",
            Ink::Minor => "\x1b[2m",
        }
    }
}

/// Notes what the user asked for.
pub(crate) fn set_colour(colour: Colour) {
    ASKED.store(colour as u8, Ordering::Relaxed);
}

/// Whether text is coloured that goes to a terminal or to something else.
pub(super) fn is_coloured(is_terminal: bool) -> bool {
    let is = |colour| ASKED.load(Ordering::Relaxed) == colour as u8;
    is(Colour::Always) || (is(Colour::Auto) && is_terminal && is_welcome(|name| std::env::var_os(name)))
}

/// Whether the environment lets a terminal have colours (no-color.org).
fn is_welcome(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    variable("NO_COLOR").is_none_or(|value| value.is_empty()) && variable("TERM").is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_can_refuse_colours() {
        let welcome = |given: &[(&str, &str)]| {
            is_welcome(|name| given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        assert!(welcome(&[("TERM", "xterm")]) && welcome(&[("TERM", "xterm"), ("NO_COLOR", "")]));
        for refused in [&[("TERM", "dumb")][..], &[], &[("TERM", "xterm"), ("NO_COLOR", "1")]] {
            assert!(!welcome(refused), "{refused:?}");
        }
    }
}
