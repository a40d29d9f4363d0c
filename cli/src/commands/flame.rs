//! Stacks of functions as folded lines, and as a picture: a flame graph.

use inferno::flamegraph::{self, Options};

use crate::failure::{Failure, Result};
use crate::output::{Output, escaped};
use crate::process::Description;

/// What a flame graph shows.
pub(super) struct Picture {
    pub(super) title: &'static str,
    /// What the numbers behind the stacks are: `ns`.
    pub(super) unit: &'static str,
    /// The error where there is no stack.
    pub(super) empty: &'static str,
}

/// The name of a function in a folded stack, in which semicolons separate functions.
pub(super) fn name(location: &str) -> String {
    location.replace(';', ":")
}

/// The name of the function in which an address is: the location without the offset.
pub(super) fn function(description: &Description) -> String {
    let offset = format!("+{:#x}", description.offset);
    let location = &description.location;
    name(description.symbol.as_ref().and_then(|_| location.strip_suffix(&offset)).unwrap_or(location))
}

/// Writes each stack on a line with its number, which [`Picture::unit`] describes.
pub(super) fn write_folded<N: std::fmt::Display>(stacks: &[(String, N)], out: &mut Output<'_>) -> Result<()> {
    stacks.iter().try_for_each(|(stack, number)| out.line(format_args!("{stack} {number}")))
}

/// Writes the flame graph as SVG.
pub(super) fn draw<N: std::fmt::Display>(
    picture: &Picture,
    stacks: &[(String, N)],
    out: &mut Output<'_>,
) -> Result<()> {
    if stacks.is_empty() {
        return Err(Failure::own(picture.empty));
    }
    let lines: Vec<String> = stacks.iter().map(|(stack, number)| format!("{} {number}", escaped(stack))).collect();
    let mut options = Options::default();
    options.title = picture.title.into();
    options.count_name = picture.unit.into();
    let mut drawn = Vec::new();
    let done = flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut drawn);
    done.map_err(|error| Failure::own(format!("the flame graph cannot be drawn: {error}")))?;
    out.trusted(&drawn)
}
