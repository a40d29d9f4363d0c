//! The line about a whole run.

use std::io::IsTerminal;
use std::time::Instant;

use super::message::tell;
use super::streams::stderr;

/// What the line tells of, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    what: &'static str,
    began: Instant,
}

impl Summary {
    /// A run that begins now. `what` are the things that are counted: `hits`.
    pub(crate) fn new(what: &'static str) -> Summary {
        Summary { what, began: Instant::now() }
    }

    /// Writes the line to standard error if that is a terminal.
    pub(crate) fn tell(self, count: u64, lost: u64) {
        if stderr().is_terminal() {
            tell(self.line(count, lost, self.began.elapsed().as_secs_f64()));
        }
    }

    fn line(self, count: u64, lost: u64, seconds: f64) -> String {
        format!("{} {count}, lost {lost}, seconds {seconds:.2}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_three_numbers() {
        assert_eq!(Summary::new("hits").line(7, 2, 1.5), "hits 7, lost 2, seconds 1.50");
    }
}
