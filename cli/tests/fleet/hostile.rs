//! Clients that are slow, never end, or come in crowds.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::host::{Host, hits};
use crate::http::{MINUTE, exchange, get, until};
use crate::program;

/// The first line of an answer.
fn answer(address: SocketAddr, request: &[u8]) -> String {
    let answer = exchange(address, request).unwrap_or_default();
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

/// Whether the other end has closed a connection.
fn is_closed(mut client: &TcpStream) -> bool {
    client.set_nonblocking(true).unwrap();
    match client.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn clients_that_ask_for_nothing_keep_nobody_else_from_asking() {
    let mut host = Host::start(&["count", "-b", "work", "--serve", ":0"], &program());
    let address = host.address();
    // More than ntrace keeps. Some say nothing, some half of a request.
    let mut silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    for client in silent.iter_mut().skip(50) {
        // ntrace may have closed it.
        let _ = client.write_all(b"GET /metr");
    }
    assert_eq!(host.work("work", 1_000), 1_000);
    until("1,000 hits", || (hits(address) == 1_000.0).then_some(()));
    // The oldest of them made room, and the others will when they have waited for long enough.
    let closed = silent.iter().filter(|client| is_closed(client));
    assert!(closed.count() >= 100 - 32);
    assert_eq!(host.end().table["total"], 1_000);
}

#[test]
fn a_client_that_reads_nothing_is_left_alone() {
    let mut host = Host::start(&["count", "-b", "work", "--by", "arg0", "--serve", ":0"], &program());
    let address = host.address();
    host.work("work", 12_000);
    until("12,000 hits", || (hits(address) == 12_000.0).then_some(()));
    // The answers are larger than what the kernel keeps for a client.
    let mut slow: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(address).unwrap()).collect();
    slow.iter_mut().for_each(|client| client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap());
    host.work("work", 500);
    until("12,500 hits", || (hits(address) == 12_500.0).then_some(()));
    // One that reads after all gets a whole answer.
    let mut text = String::new();
    slow[0].set_read_timeout(Some(MINUTE)).unwrap();
    slow[0].read_to_string(&mut text).unwrap();
    assert!(text.ends_with("# EOF\n"), "{} bytes", text.len());
    assert_eq!(host.end().table["total"], 12_500);
}

#[test]
fn requests_without_end_or_sense_are_refused() {
    let mut host = Host::start(&["count", "-b", "work", "--serve", ":0"], &program());
    let address = host.address();
    let long = format!("GET /metrics HTTP/1.1\r\nA: {}", "x".repeat(200_000));
    for (request, expected) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "HTTP/1.1 404 Not Found"),
        (b"GET /metrics/../../etc/passwd HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
        (b"\0\0\0\0", "HTTP/1.1 400 Bad Request"),
        (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", "HTTP/1.1 400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nbad header\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        (long.as_bytes(), "HTTP/1.1 431 Request Header Fields Too Large"),
    ] {
        let start = String::from_utf8_lossy(&request[..request.len().min(40)]).into_owned();
        assert_eq!(answer(address, request), expected, "{start:?}");
    }
    // A client that sends for ever is cut off.
    let mut endless = TcpStream::connect(address).unwrap();
    endless.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
    let block = [b'x'; 1 << 16];
    let sent = (0..1_000).take_while(|_| endless.write_all(&block).is_ok()).count();
    assert!(sent < 1_000, "64 MB were read");
    let (head, body) = get(address, "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK") && body.ends_with("# EOF\n"), "{head}");
    let head = exchange(address, b"HEAD /metrics HTTP/1.1\r\n\r\n").unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200 OK") && head.ends_with(b"\r\n\r\n"));
    assert_eq!(host.work("work", 5), 5);
    assert_eq!(host.end().table["total"], 5);
}
