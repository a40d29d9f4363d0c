//! What the user asks of debuggees between their start and their end.

mod access;
mod call;
mod insert;
mod inspect;
mod jumps;
mod records;
mod registers;
mod resume;
mod step;
mod stop;
mod sums;
mod syscalls;
mod watch;
