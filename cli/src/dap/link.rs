//! The connection: messages in JSON behind a header with their length (Debug Adapter Protocol, "Base Protocol").

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::{Failure, Result};

/// The most bytes of a header.
const MOST_HEADER: usize = 4 << 10;
/// The most bytes of a message.
const MOST_BYTES: usize = 16 << 20;
/// What separates a header from its message.
const GAP: &[u8] = b"\r\n\r\n";
/// The field of a header that counts.
const LENGTH: &str = "content-length";

/// What a client asks for.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct Request {
    pub(super) seq: i64,
    pub(super) command: String,
    #[serde(default)]
    pub(super) arguments: Value,
}

/// A connection to a client.
pub(super) struct Link<'a> {
    input: File,
    output: File,
    /// Readable when ntrace ends.
    stop: BorrowedFd<'a>,
    received: Vec<u8>,
    /// The number of the last message that was sent.
    sent: i64,
}

impl<'a> Link<'a> {
    pub(super) fn new(input: OwnedFd, output: OwnedFd, stop: BorrowedFd<'a>) -> Link<'a> {
        Link { input: input.into(), output: output.into(), stop, received: Vec::new(), sent: 0 }
    }

    /// The descriptor that is readable when [`Link::fill`] does not wait.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Reads the bytes that have arrived. Returns `false` if the client has closed the connection.
    ///
    /// # Errors
    /// The connection failed.
    pub(super) fn fill(&mut self) -> Result<bool> {
        let mut bytes = [0; 16 << 10];
        let read = match self.input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            other => other.map_err(failed)?,
        };
        self.received.extend_from_slice(bytes.get(..read).unwrap_or_default());
        Ok(read > 0)
    }

    /// The next request that has arrived whole. Other messages are answers to requests that this side never makes.
    ///
    /// # Errors
    /// What the client sent is not of the protocol.
    pub(super) fn next(&mut self) -> Result<Option<Request>> {
        while let Some(message) = self.message()? {
            let wrong = |error| Failure::own(format!("the client sent a message that is not JSON: {error}"));
            let message: Value = serde_json::from_slice(&message).map_err(wrong)?;
            if message["type"] != "request" {
                continue;
            }
            let wrong = |error| Failure::own(format!("the client sent a request without its fields: {error}"));
            return serde_json::from_value(message).map(Some).map_err(wrong);
        }
        Ok(None)
    }

    /// The bytes of the next message.
    fn message(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(end) = self.received.windows(GAP.len()).position(|bytes| bytes == GAP) else {
            if self.received.len() > MOST_HEADER {
                return Err(Failure::own(format!("the client sent a header of more than {MOST_HEADER} bytes")));
            }
            return Ok(None);
        };
        let header = self.received.get(..end).unwrap_or_default();
        let length = length(header)?;
        let start = end + GAP.len();
        let Some(message) = self.received.get(start..start + length).map(<[u8]>::to_vec) else { return Ok(None) };
        self.received.drain(..start + length);
        Ok(Some(message))
    }

    /// Sends a message, which gets its number here. The wait for a client that does not read ends when the client closes the connection, or
    /// when ntrace ends.
    ///
    /// # Errors
    /// The connection failed, or ntrace ends.
    pub(super) fn send(&mut self, mut message: Value) -> Result<()> {
        self.sent += 1;
        message["seq"] = json!(self.sent);
        let text = message.to_string();
        let bytes = [format!("Content-Length: {}\r\n\r\n", text.len()).as_bytes(), text.as_bytes()].concat();
        // A pipe takes this number of bytes at once when it is writable.
        for part in bytes.chunks(nix::libc::PIPE_BUF) {
            self.await_room()?;
            self.output.write_all(part).map_err(failed)?;
        }
        Ok(())
    }

    fn await_room(&self) -> Result<()> {
        loop {
            let mut waited =
                [PollFd::new(self.output.as_fd(), PollFlags::POLLOUT), PollFd::new(self.stop, PollFlags::POLLIN)];
            match poll(&mut waited, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(failed(error.into())),
            }
            let is_ready = |at: usize| waited.get(at).and_then(PollFd::any).unwrap_or(false);
            if is_ready(0) {
                return Ok(());
            }
            if is_ready(1) {
                return Err(Failure::own("the client did not read its messages before ntrace was ended"));
            }
        }
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::own(format!("the connection to the client: {error}"))
}

/// The number of bytes of the message behind a header.
fn length(header: &[u8]) -> Result<usize> {
    let text = String::from_utf8_lossy(header);
    let fields = text.split("\r\n").filter_map(|field| field.split_once(':'));
    let value = fields.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case(LENGTH)).map(|(_, value)| value);
    let length = value.and_then(|value| value.trim().parse().ok());
    match length {
        Some(length) if length <= MOST_BYTES => Ok(length),
        Some(length) => {
            Err(Failure::own(format!("the client sent a message of {length} bytes; at most {MOST_BYTES} are read")))
        }
        None => Err(Failure::own(format!("the client sent a header without Content-Length: {text:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn link() -> (UnixStream, Link<'static>) {
        let (client, server) = UnixStream::pair().unwrap();
        // Both ends live as long as the test.
        let (quiet, stop) = UnixStream::pair().unwrap();
        std::mem::forget(quiet);
        let stop: &'static UnixStream = Box::leak(Box::new(stop));
        let input = server.try_clone().unwrap();
        (client, Link::new(input.into(), server.into(), stop.as_fd()))
    }

    fn next(sent: &str) -> Result<Option<Request>> {
        let (mut client, mut link) = link();
        client.write_all(sent.as_bytes()).unwrap();
        link.fill().unwrap();
        link.next()
    }

    #[test]
    fn a_request_is_read_when_all_of_it_has_arrived() {
        let (mut client, mut link) = link();
        let text = r#"{"seq":3,"type":"request","command":"threads"}"#;
        let whole = format!("content-length: {}\r\nX-Other: 1\r\n\r\n{text}", text.len());
        let (first, rest) = whole.split_at(40);
        client.write_all(first.as_bytes()).unwrap();
        link.fill().unwrap();
        assert_eq!(link.next().unwrap(), None);
        client.write_all(rest.as_bytes()).unwrap();
        link.fill().unwrap();
        let request = Request { seq: 3, command: "threads".into(), arguments: Value::Null };
        assert_eq!(link.next().unwrap(), Some(request));
        assert_eq!(link.next().unwrap(), None);
    }

    #[test]
    fn messages_of_other_kinds_are_passed_over() {
        assert_eq!(next("Content-Length: 19\r\n\r\n{\"type\":\"response\"}").unwrap(), None);
    }

    #[test]
    fn what_is_not_of_the_protocol_is_refused_with_its_reason() {
        for (sent, reason) in [
            ("Content-Length: 99999999\r\n\r\n", "at most 16777216"),
            ("Content-Type: x\r\n\r\n", "without Content-Length"),
            ("Content-Length: 4\r\n\r\n{{{{", "not JSON"),
            ("Content-Length: 18\r\n\r\n{\"type\":\"request\"}", "without its fields"),
            (&"x".repeat(5000), "header of more than"),
        ] {
            let failure = next(sent).unwrap_err().to_string();
            assert!(failure.contains(reason), "{failure}");
        }
    }

    #[test]
    fn messages_have_their_length_and_ascending_numbers() {
        let (client, mut link) = link();
        link.send(json!({ "type": "event" })).unwrap();
        link.send(json!({ "type": "event" })).unwrap();
        drop(link);
        let text = io::read_to_string(client).unwrap();
        let message = |number: u32| format!("Content-Length: 24\r\n\r\n{{\"seq\":{number},\"type\":\"event\"}}");
        assert_eq!(text, message(1) + &message(2));
    }

    #[test]
    fn a_client_that_does_not_read_is_left_when_ntrace_is_to_end() {
        let (_client, server) = UnixStream::pair().unwrap();
        let (end, stop) = UnixStream::pair().unwrap();
        let mut link = Link::new(server.try_clone().unwrap().into(), server.into(), stop.as_fd());
        drop(end);
        let large = "x".repeat(4 << 20);
        assert!(link.send(json!({ "text": large })).is_err());
    }
}
