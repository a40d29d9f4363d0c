//! Locations at which something begins or ends.

use super::grammar::Location;
use crate::failure::{Failure, Result};

/// Reads the locations of an option, each of which is in a file: every process that maps the file has it.
///
/// # Errors
/// A text is no location, or is an address in memory.
pub(crate) fn in_files(option: &str, texts: &[String]) -> Result<Vec<Location>> {
    let read = |text: &String| {
        let location = Location::parse(text).map_err(|what| Failure::usage(format!("{option}: {what}")))?;
        match location.address() {
            Some(_) => Err(Failure::usage(format!("{option} '{text}': write MODULE!ADDRESS, or a name"))),
            None => Ok(location),
        }
    };
    texts.iter().map(read).collect()
}
