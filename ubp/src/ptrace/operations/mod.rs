//! What the user asks of debuggees between their start and their end.

mod access;
mod call;
mod insert;
mod resume;
mod step;
