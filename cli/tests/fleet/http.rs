//! Requests of HTTP, of few lines.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The longest wait for anything.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// The bytes that come back for these.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(MINUTE))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// The head and the body for a path.
pub(crate) fn get(address: SocketAddr, path: &str) -> (String, String) {
    let answer = exchange(address, format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes());
    let answer = String::from_utf8(answer.unwrap_or_default()).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_owned(), body.to_owned())
}

/// A text as part of a query.
pub(crate) fn quoted(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Asks again until there is an answer.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + MINUTE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}
