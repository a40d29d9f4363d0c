use std::fs::File;

use nix::fcntl::OFlag;
use nix::unistd::pipe2;

/// A pipe: the end to read from, and the end to write to. A program that is executed has neither.
///
/// # Panics
/// Where the kernel has no descriptor left.
pub fn pipe() -> (File, File) {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).expect("a pipe");
    (reader.into(), writer.into())
}
