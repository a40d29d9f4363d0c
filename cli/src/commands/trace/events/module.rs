//! Files whose code is mapped or unmapped.

use std::fmt;

use serde::Serialize;
use ubp::Module;

use crate::output::shown;

/// A module that came or went. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Mapped {
    module: String,
    /// The first byte of the first mapping.
    start: String,
    /// The first byte after the last mapping.
    end: String,
    build_id: Option<String>,
}

impl Mapped {
    pub(super) fn new(module: &Module) -> Mapped {
        Mapped {
            module: shown(&module.path),
            start: module.start.to_string(),
            end: module.end.to_string(),
            build_id: module.build_id.as_ref().map(ToString::to_string),
        }
    }
}

impl fmt::Display for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.module, self.start)
    }
}
