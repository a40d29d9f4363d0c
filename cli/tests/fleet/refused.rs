//! Arguments and variables without meaning. The program does not start.

use std::net::TcpListener;

use crate::common::{ntrace, stderr, stdout};

/// The exit status, and what ntrace tells.
fn refused(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = ntrace();
    command.args(arguments).args(["--", "echo", "started"]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert_eq!(stdout(&output), "", "{arguments:?}: the program ran");
    (output.status.code(), stderr(&output))
}

#[test]
fn what_makes_no_sense_is_refused_before_the_program_starts() {
    for (argument, value, variables, told) in [
        ("--serve", "9464", &[][..], "9464: an address for --serve is [HOST]:PORT"),
        ("--serve", ":http", &[], ":http: an address for --serve is [HOST]:PORT"),
        ("--serve", ":70000", &[], ":70000: an address"),
        ("--otlp", "localhost:4318", &[], "--otlp localhost:4318: a collector's URL is http://HOST:PORT"),
        ("--otlp", "https://a:4318", &[], "--otlp https://a:4318: ntrace has no TLS"),
        ("--otlp", "http://a:1", &[("OTEL_METRIC_EXPORT_INTERVAL", "1s")], "OTEL_METRIC_EXPORT_INTERVAL: '1s'"),
        ("--otlp", "http://a:1", &[("OTEL_RESOURCE_ATTRIBUTES", "rack")], "OTEL_RESOURCE_ATTRIBUTES: 'rack'"),
    ] {
        for command in
            [&["count", "-b", "main"][..], &["count", "-b", "main", "--by", "thread"], &["latency", "-b", "main"]]
        {
            let (status, said) = refused(&[command, &[argument, value]].concat(), variables);
            assert_eq!(status, Some(2), "{said}");
            assert!(said.starts_with(&format!("ntrace: {told}")), "{said}");
        }
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (status, said) = refused(&["count", "-b", "main", "--serve", &address], &[]);
    assert_eq!(status, Some(125), "{said}");
    assert!(said.starts_with(&format!("ntrace: cannot listen at {address}: ")), "{said}");
}
