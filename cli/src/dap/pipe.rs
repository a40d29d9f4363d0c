//! Pipes from a program.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use ubp::Stdio;

/// A pipe from a program.
pub(super) struct Pipe {
    source: Box<dyn Source>,
    /// The protocol's word for what it carries.
    pub(super) category: &'static str,
    /// The first bytes of a character whose rest has not been written.
    begun: Vec<u8>,
}

trait Source: Read + AsFd {}

impl<T: Read + AsFd> Source for T {}

impl Pipe {
    /// The pipes of a program.
    pub(super) fn of(stdio: Stdio) -> Vec<Pipe> {
        let mut pipes = Vec::new();
        let mut add = |source: Option<Box<dyn Source>>, category| {
            pipes.extend(source.map(|source| Pipe { source, category, begun: Vec::new() }));
        };
        add(stdio.stdout.map(|pipe| Box::new(pipe) as Box<dyn Source>), "stdout");
        add(stdio.stderr.map(|pipe| Box::new(pipe) as Box<dyn Source>), "stderr");
        pipes
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }

    /// Reads what was written, once; `None`: the program and its children have closed the pipe. The pipe is readable.
    pub(super) fn read(&mut self) -> Option<String> {
        let mut bytes = [0; 16 << 10];
        let read = self.source.read(&mut bytes).ok().filter(|read| *read > 0)?;
        self.begun.extend_from_slice(bytes.get(..read).unwrap_or_default());
        let whole = whole_characters(&self.begun);
        Some(String::from_utf8_lossy(&self.begun.drain(..whole).collect::<Vec<u8>>()).into_owned())
    }
}

/// The number of bytes before a character that is begun at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // What is wrong in the middle may hide a character that is begun at the end: that one is shown as wrong too.
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_writes_is_told_whole() {
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2]), 1);
        assert_eq!(whole_characters(b"a\xff"), 2);
        assert_eq!(whole_characters(b""), 0);
    }
}
