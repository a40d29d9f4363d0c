//! The standard streams of this process. Only this module opens them.

use std::io;

/// Standard output.
#[expect(clippy::disallowed_methods, reason = "the writer that uses it escapes each line")]
pub(super) fn stdout() -> io::StdoutLock<'static> {
    io::stdout().lock()
}

/// Standard error.
#[expect(clippy::disallowed_methods, reason = "the writer that uses it escapes each line")]
pub(super) fn stderr() -> io::Stderr {
    io::stderr()
}
