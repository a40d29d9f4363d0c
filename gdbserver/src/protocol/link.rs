//! The connection: packets with their checksums, acknowledgements, escapes (GDB manual, "Overview" of the protocol).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The most bytes of a packet.
pub(crate) const MOST_BYTES: usize = 0x20000;
/// The character that asks to stop the program.
const INTERRUPT: u8 = 3;
const ESCAPE: u8 = b'}';

/// What the client sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The contents of a packet, without escapes.
    Packet(Vec<u8>),
    Interrupt,
}

/// A connection to a client.
pub(crate) struct Link {
    input: File,
    output: File,
    buffer: Vec<u8>,
    /// Whether packets are acknowledged. The client turns it off on reliable connections.
    pub(crate) acknowledges: bool,
}

impl Link {
    pub(crate) fn new(input: OwnedFd, output: OwnedFd) -> Link {
        Link { input: input.into(), output: output.into(), buffer: Vec::new(), acknowledges: true }
    }

    /// The descriptor that is readable when [`Link::fill`] does not wait.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Reads what has arrived; `false`: the client is gone.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let read = match self.input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            other => other?,
        };
        self.buffer.extend_from_slice(bytes.get(..read).unwrap_or_default());
        if self.buffer.len() > 2 * MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet of the client is too long"));
        }
        Ok(read > 0)
    }

    /// The next thing that has arrived whole. A packet whose checksum is wrong is asked for again. A packet that the client sent again, because
    /// it has waited long for the acknowledgement, is one packet.
    pub(crate) fn next(&mut self) -> io::Result<Option<Input>> {
        while let Some(&first) = self.buffer.first() {
            if first == INTERRUPT {
                self.buffer.remove(0);
                return Ok(Some(Input::Interrupt));
            }
            if first != b'$' {
                // Acknowledgements, and noise between packets.
                self.buffer.remove(0);
                continue;
            }
            let Some(end) = self.buffer.iter().position(|&byte| byte == b'#') else { return Ok(None) };
            let Some(sum) = self.buffer.get(end + 1..end + 3) else { return Ok(None) };
            let contents = self.buffer.get(1..end).unwrap_or_default();
            let is_right = super::hex::number(sum) == Some(checksum(contents).into());
            let packet = unescape(contents);
            let sent: Vec<u8> = self.buffer.drain(..end + 3).collect();
            if self.acknowledges {
                self.output.write_all(if is_right { b"+" } else { b"-" })?;
                while is_right && self.buffer.starts_with(&sent) {
                    self.buffer.drain(..sent.len());
                    self.output.write_all(b"+")?;
                }
            }
            if is_right || !self.acknowledges {
                return Ok(Some(Input::Packet(packet)));
            }
        }
        Ok(None)
    }

    /// Sends a packet.
    pub(crate) fn send(&mut self, contents: &[u8]) -> io::Result<()> {
        self.write(b'$', contents)
    }

    /// Sends a notification, which is not acknowledged.
    pub(crate) fn notify(&mut self, contents: &[u8]) -> io::Result<()> {
        self.write(b'%', contents)
    }

    fn write(&mut self, start: u8, contents: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(contents.len() + 4);
        bytes.push(start);
        escape(&mut bytes, contents);
        let sum = checksum(bytes.get(1..).unwrap_or_default());
        bytes.push(b'#');
        super::hex::push(&mut bytes, &[sum]);
        self.output.write_all(&bytes)?;
        self.output.flush()
    }
}

fn checksum(contents: &[u8]) -> u8 {
    contents.iter().fold(0, |sum: u8, &byte| sum.wrapping_add(byte))
}

/// Appends contents with escapes for the characters that have a meaning in packets.
fn escape(out: &mut Vec<u8>, contents: &[u8]) {
    for &byte in contents {
        match byte {
            b'#' | b'$' | b'*' | ESCAPE => out.extend([ESCAPE, byte ^ 0x20]),
            _ => out.push(byte),
        }
    }
}

fn unescape(contents: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(contents.len());
    let mut bytes = contents.iter();
    while let Some(&byte) = bytes.next() {
        match (byte, byte == ESCAPE) {
            (_, true) => out.extend(bytes.next().map(|&next| next ^ 0x20)),
            (byte, false) => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that has received `bytes`, and the other end of its output.
    fn link(bytes: &[u8]) -> (Link, File) {
        let ((input, client), (answers, output)) = (pipe(), pipe());
        File::from(client).write_all(bytes).unwrap();
        let mut link = Link::new(input, output);
        assert!(link.fill().unwrap());
        (link, answers.into())
    }

    fn pipe() -> (OwnedFd, OwnedFd) {
        let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        (reader.into(), writer.into())
    }

    #[test]
    fn packets_interrupts_and_noise_are_told_apart() {
        let (mut link, _answers) = link(b"+$g#67\x03noise$m}\x03#ed$unfinished");
        assert_eq!(link.next().unwrap(), Some(Input::Packet(b"g".into())));
        assert_eq!(link.next().unwrap(), Some(Input::Interrupt));
        assert_eq!(link.next().unwrap(), Some(Input::Packet(b"m#".into())));
        assert_eq!(link.next().unwrap(), None);
    }

    #[test]
    fn a_wrong_checksum_asks_for_the_packet_again() {
        let (mut link, mut answers) = link(b"$g#00$g#67");
        assert_eq!(link.next().unwrap(), Some(Input::Packet(b"g".into())));
        let mut said = [0; 2];
        answers.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"-+");
    }

    #[test]
    fn a_packet_that_was_sent_again_before_it_was_acknowledged_is_one_packet() {
        let (mut link, mut answers) = link(b"$g#67$g#67$m#6d");
        assert_eq!(link.next().unwrap(), Some(Input::Packet(b"g".into())));
        assert_eq!(link.next().unwrap(), Some(Input::Packet(b"m".into())));
        let mut said = [0; 3];
        answers.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"+++");
        // On a connection that loses nothing it is two.
        link.acknowledges = false;
        link.buffer = b"$g#67$g#67".into();
        assert_eq!(link.next().unwrap(), Some(Input::Packet(b"g".into())));
        assert_eq!(link.next().unwrap(), Some(Input::Packet(b"g".into())));
    }

    #[test]
    fn what_is_sent_is_read_again_whatever_its_bytes() {
        let all: Vec<u8> = (0..=255).collect();
        let mut escaped = Vec::new();
        escape(&mut escaped, &all);
        assert!(!escaped.contains(&b'#') && !escaped.contains(&b'$'));
        assert_eq!(unescape(&escaped), all);
    }
}
