//! Descriptors in reserve: a session looks at its debuggees through files of /proc, also when the process has no descriptor left. A thread
//! whose stop could not be looked at would be stopped for good.

use std::cell::RefCell;
use std::fs::File;
use std::io;

/// The number of descriptors in reserve: more than a session opens while it handles one stop.
const RESERVE: usize = 4;

thread_local! {
    /// The reserve of this thread, if it has a session.
    static KEPT: RefCell<Option<Vec<File>>> = const { RefCell::new(None) };
}

/// Opens descriptors for the reserve of this thread, as far as there are some.
pub(crate) fn keep_reserve() {
    KEPT.with_borrow_mut(|kept| fill(kept.get_or_insert_default()));
}

/// Closes the reserve.
pub(crate) fn drop_reserve() {
    KEPT.take();
}

fn fill(kept: &mut Vec<File>) {
    while kept.len() < RESERVE {
        let Ok(file) = File::open("/dev/null") else { break };
        kept.push(file);
    }
}

/// Opens a file; where the process has no descriptor left, one of the reserve makes room.
pub(crate) fn open_by_reserve<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    loop {
        match open() {
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                // Another thread may take the descriptor that becomes free.
                if KEPT.with_borrow_mut(|kept| kept.as_mut().and_then(Vec::pop)).is_none() {
                    return Err(error);
                }
            }
            result => {
                KEPT.with_borrow_mut(|kept| kept.as_mut().filter(|kept| kept.len() < RESERVE).map(fill));
                return result;
            }
        }
    }
}
