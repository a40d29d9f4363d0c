//! What threads of a test program do one after another.

use std::sync::{Mutex, PoisonError};

/// Has a process made, or a channel closed: a process that is being made has all files of this one until it executes a program or
/// closes them, and a session ends when the last descriptor of its channel is closed. A process that a test makes out of turn keeps the
/// session of another test alive for a moment.
pub fn in_turn<R>(make: impl FnOnce() -> R) -> R {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    make()
}
