//! Why a request cannot be answered.

use serde_json::Value;

/// Why a request cannot be answered: a text for the user.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(String);

/// The body of an answer.
pub(super) type Answered = Result<Value, Refusal>;

impl Refusal {
    pub(super) fn new(text: impl Into<String>) -> Refusal {
        Refusal(text.into())
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl From<ubp::Error> for Refusal {
    fn from(error: ubp::Error) -> Refusal {
        Refusal(error.to_string())
    }
}
