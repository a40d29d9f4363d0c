//! The address of a collector.

use crate::failure::{Failure, Result};
use crate::output::shown;

/// The path of metrics by the protocol, where a URL has none.
const PATH: &str = "/v1/metrics";

/// Returns the URL to which metrics are sent.
///
/// # Errors
/// The text is no URL of plain HTTP with a host.
pub(super) fn of_metrics(text: &str) -> Result<String> {
    let wrong = |what: &str| Failure::usage(format!("--otlp {}: {what}", shown(text)));
    if text.starts_with("https://") {
        return Err(wrong(
            "ntrace has no TLS: send to a collector on this host by http://, which sends further by TLS",
        ));
    }
    let usage = "a collector's URL is http://HOST:PORT or http://HOST:PORT/PATH";
    let rest = text.strip_prefix("http://").ok_or_else(|| wrong(usage))?;
    let (host, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let is_word = text.bytes().all(|byte| byte.is_ascii_graphic());
    if host.is_empty() || host.starts_with(':') || !is_word || text.contains(['?', '#', '@']) {
        return Err(wrong(usage));
    }
    let path = if path.len() > 1 { path } else { PATH };
    Ok(format!("http://{host}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_go_to_the_path_of_the_protocol_unless_the_url_has_one() {
        for (text, expected) in [
            ("http://localhost:4318", "http://localhost:4318/v1/metrics"),
            ("http://[::1]:4318/", "http://[::1]:4318/v1/metrics"),
            ("http://a/otlp/v1/metrics", "http://a/otlp/v1/metrics"),
        ] {
            assert_eq!(of_metrics(text).ok().as_deref(), Some(expected), "{text}");
        }
        for text in
            ["", "localhost:4318", "http://", "http://:4318", "ftp://a", "http://a b", "http://u:p@a/", "http://a?x"]
        {
            let told = of_metrics(text).map_err(|failure| failure.to_string());
            assert!(told.as_ref().is_err_and(|told| told.contains("http://HOST:PORT")), "{text}: {told:?}");
        }
        let told = of_metrics("https://a").map_err(|failure| failure.to_string());
        assert!(told.is_err_and(|told| told.contains("no TLS")));
    }
}
