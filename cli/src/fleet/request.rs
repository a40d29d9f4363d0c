//! A request of HTTP/1, and its answer.

use std::fmt::Write;
use std::sync::Arc;

use httparse::{Header, Request, Status};

/// The most bytes of a request. One of Prometheus has 300.
pub(super) const LONGEST: usize = 8 << 10;
/// The most headers of a request.
const HEADERS: usize = 64;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The metrics.
    Metrics {
        /// Whether the client reads compressed text.
        gzip: bool,
        /// Whether it wants the head alone.
        head: bool,
    },
    /// Nothing that there is.
    Wrong(Wrong),
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Malformed,
    NoSuchPath,
    Method,
    TooLong,
}

/// Parses the bytes of a request that were received so far. `None` means that the request is not complete.
pub(super) fn read(bytes: &[u8]) -> Option<Asked> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Partial) if bytes.len() < LONGEST => None,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => Some(Asked::Wrong(Wrong::TooLong)),
        Err(_) => Some(Asked::Wrong(Wrong::Malformed)),
        Ok(Status::Complete(_)) => Some(meaning(&request)),
    }
}

fn meaning(request: &Request<'_, '_>) -> Asked {
    let path = request.path.unwrap_or_default();
    if path.split('?').next() != Some("/metrics") {
        return Asked::Wrong(Wrong::NoSuchPath);
    }
    let head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Asked::Wrong(Wrong::Method),
    };
    Asked::Metrics { gzip: request.headers.iter().any(takes_gzip), head }
}

/// Whether a header says that the client reads what gzip compressed. A weight of zero forbids it (RFC 9110 12.4.2).
fn takes_gzip(header: &Header<'_>) -> bool {
    let value = std::str::from_utf8(header.value).unwrap_or_default();
    let takes = |coding: &str| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight != Some(0.0)
    };
    header.name.eq_ignore_ascii_case("accept-encoding") && value.split(',').any(takes)
}

/// The bytes of an answer. A connection has one request.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) head: Vec<u8>,
    pub(super) body: Arc<[u8]>,
}

impl Answer {
    /// Returns the metrics. `head`: only what tells of them.
    pub(super) fn metrics(body: &Arc<[u8]>, kind: &str, gzip: bool, head: bool) -> Answer {
        let coding = if gzip { "Content-Encoding: gzip\r\n" } else { "" };
        let bytes = format!("{coding}Vary: Accept-Encoding\r\nContent-Type: {kind}\r\n");
        let head_alone = if head { Arc::from([]) } else { Arc::clone(body) };
        Answer { head: self::head("200 OK", &bytes, body.len()), body: head_alone }
    }

    /// Returns the reason why a request is refused.
    pub(super) fn refused(wrong: Wrong) -> Answer {
        let (status, header, text) = match wrong {
            Wrong::Malformed => ("400 Bad Request", "", "This is no request of HTTP/1.\n"),
            Wrong::NoSuchPath => ("404 Not Found", "", "ntrace has /metrics alone.\n"),
            Wrong::Method => {
                ("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "ntrace has /metrics for GET and HEAD.\n")
            }
            Wrong::TooLong => ("431 Request Header Fields Too Large", "", "The request is too long.\n"),
        };
        let header = format!("{header}Content-Type: text/plain; charset=utf-8\r\n");
        Answer { head: head(status, &header, text.len()), body: Arc::from(text.as_bytes()) }
    }
}

fn head(status: &str, headers: &str, length: usize) -> Vec<u8> {
    let mut text = String::new();
    // A `String` takes all that is written.
    let _ = write!(text, "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(gzip: bool, head: bool) -> Option<Asked> {
        Some(Asked::Metrics { gzip, head })
    }

    #[test]
    fn a_request_is_complete_with_its_empty_line() {
        let text = b"GET /metrics HTTP/1.1\r\nHost: a:1\r\n\r\n";
        assert_eq!(read(text), metrics(false, false));
        for end in 0..text.len() {
            assert_eq!(read(&text[..end]), None, "{end}");
        }
    }

    #[test]
    fn what_a_request_asks_for_is_told_by_method_path_and_headers() {
        let ask = |text: &str| read(format!("{text}\r\n\r\n").as_bytes());
        let wrong = |wrong| Some(Asked::Wrong(wrong));
        assert_eq!(ask("GET /metrics?x=1 HTTP/1.0"), metrics(false, false));
        assert_eq!(ask("HEAD /metrics HTTP/1.1"), metrics(false, true));
        assert_eq!(ask("GET /metrics HTTP/1.1\r\nAccept-Encoding: br, GZIP;q=0.5"), metrics(true, false));
        assert_eq!(ask("GET /metrics HTTP/1.1\r\naccept-encoding: gzip;q=0, br"), metrics(false, false));
        for path in ["/", "/metrics/", "/metrics2", "//metrics", "/../metrics"] {
            assert_eq!(ask(&format!("GET {path} HTTP/1.1")), wrong(Wrong::NoSuchPath), "{path}");
        }
        assert_eq!(ask("POST /metrics HTTP/1.1"), wrong(Wrong::Method));
        assert_eq!(ask("\u{1}\u{2}"), wrong(Wrong::Malformed));
    }

    #[test]
    fn a_request_without_end_is_refused_when_it_is_too_long() {
        let text = format!("GET /metrics HTTP/1.1\r\nA: {}", "x".repeat(LONGEST));
        assert_eq!(read(&text.as_bytes()[..LONGEST - 1]), None);
        assert_eq!(read(&text.as_bytes()[..LONGEST]), Some(Asked::Wrong(Wrong::TooLong)));
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS + 1));
        assert_eq!(read(many.as_bytes()), Some(Asked::Wrong(Wrong::TooLong)));
    }
}
