//! OTLP.

use std::io::Read;
use std::net::TcpListener;
use std::process::Command;
use std::time::Instant;

use crate::common::ntrace;
use crate::host::Host;
use crate::judge::Judge;
use crate::program;

const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// ntrace with variables of OpenTelemetry.
fn ntrace_with(variables: &[(&str, &str)]) -> Command {
    let mut command = ntrace();
    command.envs(variables.iter().copied());
    command
}

fn url(judge: &Judge) -> String {
    format!("http://{}/opentelemetry/v1/metrics", judge.address)
}

#[test]
fn a_collector_has_as_many_hits_as_the_program_made() {
    let Some(judge) = Judge::victoria_metrics("a_collector_has_as_many_hits_as_the_program_made") else { return };
    let list = "rack=7,service.instance.id=here%2C1";
    let command = ntrace_with(&[(INTERVAL, "200"), ("OTEL_RESOURCE_ATTRIBUTES", list), ("OTEL_SERVICE_NAME", "shop")]);
    let mut host = Host::start_by(command, &["count", "-b", "work", "nap", "--otlp", &url(&judge)], &program());
    let of = |name: &str| {
        let resource = "service_name=\"shop\",service_instance_id=\"here,1\",rack=\"7\",host_name!=\"\"";
        format!("ntrace_hits_total{{location=~\".*!{name}\",{resource}}}")
    };
    host.work("work", 1_000);
    judge.expect(&of("work"), 1_000.0);
    host.work("work", 234);
    host.work("nap", 2);
    judge.expect(&of("work"), 1_234.0);
    judge.expect(&of("nap"), 2.0);
    judge.expect("ntrace_processes", 1.0);
    let ended = host.end();
    assert_eq!((&ended.table["total"], ended.messages.as_str()), (&1_236.into(), ""));
}

#[test]
fn the_last_numbers_are_sent_at_the_end() {
    let Some(judge) = Judge::victoria_metrics("the_last_numbers_are_sent_at_the_end") else { return };
    let mut host = Host::start(&["latency", "-b", "work", "nap", "--otlp", &url(&judge)], &program());
    host.work("work", 300);
    host.work("nap", 20);
    let ended = host.end();
    let table = &ended.table;
    assert_eq!(ended.messages, "");
    judge.expect("sum(ntrace_call_duration_seconds_count)", 320.0);
    let total: u64 = table["latencies"].as_array().unwrap().iter().map(|row| row["total"].as_u64().unwrap()).sum();
    let sum = judge.value("sum(ntrace_call_duration_seconds_sum)").unwrap();
    assert!((sum - total as f64 / 1e9).abs() < 1e-9, "{sum} and {total}");
    judge.expect("ntrace_call_duration_seconds_bucket{location=~\".*!nap\",le=\"+Inf\"}", 20.0);
    let micros = "ntrace_call_duration_seconds_bucket{location=~\".*!nap\",le=\"0.000524287\"}";
    assert_eq!(judge.value(micros).unwrap_or(0.0), 0.0, "a nap takes a millisecond");
    assert_eq!(judge.ask("ntrace_call_duration_seconds_bucket{location=~\".*!nap\",le=\"+Inf\"}").len(), 1);
}

#[test]
fn a_collector_that_cannot_be_reached_is_told_once_and_stops_nothing() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let command = ntrace_with(&[(INTERVAL, "10")]);
    let mut host = Host::start_by(command, &["count", "-b", "work", "nap", "--otlp", &url], &program());
    // Long enough for many attempts.
    assert_eq!(host.work("nap", 300), 300);
    let ended = host.end();
    assert_eq!(ended.table["total"], 300);
    let lines: Vec<&str> = ended.messages.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with(&format!("ntrace: {url}/v1/metrics: numbers did not arrive")), "{lines:?}");
}

#[test]
fn a_collector_that_refuses_is_told_once() {
    let Some(judge) = Judge::victoria_metrics("a_collector_that_refuses_is_told_once") else { return };
    let command = ntrace_with(&[(INTERVAL, "10")]);
    let url = format!("http://{}", judge.address);
    let mut host = Host::start_by(command, &["count", "-b", "work", "nap", "--otlp", &url], &program());
    host.work("nap", 100);
    let ended = host.end();
    assert!(ended.messages.lines().count() == 1 && ended.messages.contains(": http status: "), "{}", ended.messages);
}

#[test]
fn a_collector_that_never_answers_stops_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let command = ntrace_with(&[(INTERVAL, "10")]);
    let mut host = Host::start_by(command, &["count", "-b", "work", "nap", "--otlp", &url], &program());
    let (mut silent, _) = listener.accept().unwrap();
    let began = Instant::now();
    assert_eq!(host.work("work", 100_000), 100_000);
    let worked = began.elapsed();
    let ended = host.end();
    assert_eq!(ended.table["total"], 100_000);
    assert!(ended.messages.contains("the collector did not answer in time"), "{}", ended.messages);
    // The message was there all the time.
    let mut bytes = Vec::new();
    silent.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{text}");
    assert!(worked < crate::http::MINUTE, "{worked:?}");
}
