//! The time of each stack of functions as a picture: a flame graph.

use inferno::flamegraph::{self, Options};

use super::tree::Tree;
use crate::failure::{Failure, Result};
use crate::output::{Output, escaped};

/// Writes the flame graph as SVG.
pub(super) fn write(tree: &Tree, out: &mut Output<'_>) -> Result<()> {
    let lines: Vec<String> = tree.folded().iter().map(|(stack, own)| format!("{} {own}", escaped(stack))).collect();
    if lines.is_empty() {
        return Err(Failure::own("no call returned, so that there is nothing to draw"));
    }
    let mut options = Options::default();
    options.title = "Time in functions".into();
    options.count_name = "ns".into();
    let mut picture = Vec::new();
    let drawn = flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture);
    drawn.map_err(|error| Failure::own(format!("the flame graph cannot be drawn: {error}")))?;
    out.trusted(&picture)
}
