//! Counts.

use std::process::Command;
use std::thread;

use crate::common::{ntrace, scratch, stderr};
use crate::host::{Host, hits, scraped};
use crate::http::{exchange, get, until};
use crate::judge::Judge;
use crate::{common, program};

const WORK: &str = "ntrace_hits_total{location=~\".*!work\"}";
const NAP: &str = "ntrace_hits_total{location=~\".*!nap\"}";

#[test]
fn prometheus_has_as_many_hits_as_the_program_made() {
    let mut host = Host::start(&["count", "-b", "work", "nap", "--serve", ":0"], &program());
    let address = host.address();
    let Some(judge) = Judge::prometheus("prometheus_has_as_many_hits_as_the_program_made", &[address]) else { return };
    // A location is told before its first hit, so that a rate has that hit too.
    judge.expect(WORK, 0.0);
    assert_eq!(host.work("work", 100_000), 100_000);
    judge.expect(WORK, 100_000.0);
    assert_eq!(host.work("nap", 3), 100_003);
    judge.expect(NAP, 3.0);
    judge.expect("sum(ntrace_hits_total)", 100_003.0);
    judge.expect("ntrace_processes", 1.0);
    judge.expect("ntrace_lost_total", 0.0);
    judge.expect("count(ntrace_info{version!=\"\"})", 1.0);
    let ended = host.end();
    assert_eq!(ended.table["total"], 100_003, "{}", ended.messages);
    // With ntrace its server ends.
    judge.await_value("up", 0.0);
}

#[test]
fn hits_never_decrease_while_processes_come_and_go() {
    let calls = common::build("calls.c", &[]);
    let file = scratch("counts.json");
    let script = format!("for i in $(seq 40); do {} 250 >/dev/null 2>&1; done; read wait", calls.display());
    let mut command = ntrace();
    command.args(["count", "-b", "work", "--serve", ":0", "--format", "json", "-o"]).arg(&file);
    let mut host = Host::start_by(shell(command, &script), &[], "true".as_ref());
    let address = host.address();
    let mut last = 0.0;
    until("10,000 hits", || {
        let now = hits(address);
        assert!(now >= last, "{now} after {last}");
        last = now;
        (now == 10_000.0).then_some(())
    });
    host.tell("");
    assert!(host.ntrace.wait().unwrap().success());
}

/// A command whose program is a shell's script, whatever program comes behind it.
fn shell(mut ntrace: Command, script: &str) -> Command {
    ntrace.args(["--", "sh", "-c", script]);
    ntrace
}

#[test]
fn rows_beyond_the_bound_share_a_series_and_no_hit_is_missing() {
    let mut host = Host::start(&["count", "-b", "work", "--by", "arg0", "--serve", ":0"], &program());
    let address = host.address();
    host.work("work", 12_000);
    until("12,000 hits", || (hits(address) == 12_000.0).then_some(()));
    host.work("work", 12_000);
    until("24,000 hits", || (hits(address) == 24_000.0).then_some(()));
    let series = scraped(address);
    let of =
        |end: &str| series.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, value)| *value).collect::<Vec<_>>();
    assert_eq!(of("!work\",by=\"arg0=0x7\"}"), [2.0]);
    assert_eq!(of("{location=\"other\"}"), [4_000.0]);
    assert_eq!(series.iter().filter(|(name, _)| name.starts_with("ntrace_hits_total")).count(), 10_001);
    assert_eq!(host.end().table["total"], 24_000);
}

#[test]
fn values_are_in_the_same_buckets_on_every_host() {
    let mut host = Host::start(&["count", "-b", "work", "--hist", "arg0", "--serve", ":0"], &program());
    let address = host.address();
    host.work("work", 100);
    until("100 hits", || (hits(address) == 100.0).then_some(()));
    let series = scraped(address);
    let of =
        |start: &str| series.iter().filter(|(name, _)| name.starts_with(start)).map(|(_, value)| *value).sum::<f64>();
    assert_eq!((of("ntrace_value_count{"), of("ntrace_value_sum{")), (100.0, 4950.0));
    for (bound, count) in
        [("0.0", 1.0), ("3.0", 4.0), ("15.0", 16.0), ("63.0", 64.0), ("255.0", 100.0), ("+Inf", 100.0)]
    {
        assert_eq!(of(&format!("ntrace_value_bucket{{le=\"{bound}\",")), count, "{bound}");
    }
    assert_eq!(series.iter().filter(|(name, _)| name.starts_with("ntrace_value_bucket")).count(), 33);
    assert_eq!(host.end().table["counts"][0]["values"]["sum"], 4950);
}

#[test]
fn rows_that_are_not_printed_are_told() {
    let mut host = Host::start(&["count", "-b", "work", "--by", "arg0", "--top", "2", "--serve", ":0"], &program());
    let address = host.address();
    host.work("work", 10);
    host.work("work", 5);
    until("15 hits in 10 series", || {
        let series = scraped(address);
        let hits = series.iter().filter(|(name, _)| name.starts_with("ntrace_hits_total")).map(|(_, value)| *value);
        (hits.collect::<Vec<_>>().len() == 10 && self::hits(address) == 15.0).then_some(())
    });
    let table = host.end().table;
    assert_eq!((table["counts"].as_array().unwrap().len(), &table["total"]), (2, &15.into()));
}

#[test]
fn the_same_text_is_served_compressed_to_those_who_read_that() {
    let mut host = Host::start(&["count", "-b", "libc!mem*", "libc!str*", "--serve", ":0"], &program());
    let address = host.address();
    let all = || scraped(address).len();
    let plain = until("numbers", || Some(all()).filter(|count| *count > 20));
    let answer = exchange(address, b"GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n").unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]);
    assert!(head.contains("Content-Encoding: gzip\r\n"), "{head}");
    let file = scratch("metrics.gz");
    std::fs::write(&file, &answer[end + 4..]).unwrap();
    let inflated = Command::new("gzip").arg("-dc").arg(&file).output().unwrap();
    assert!(inflated.status.success(), "{}", stderr(&inflated));
    let text = String::from_utf8(inflated.stdout).unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(text.lines().filter(|line| !line.starts_with('#')).count() >= plain, "{text}");
    let (head, body) = get(address, "/metrics");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    host.end();
}

#[test]
fn those_who_ask_at_the_same_time_get_the_same_numbers() {
    let mut host = Host::start(&["count", "-b", "work", "--serve", ":0"], &program());
    let address = host.address();
    host.work("work", 10);
    until("10 hits", || (hits(address) == 10.0).then_some(()));
    let asking: Vec<_> = (0..20).map(|_| thread::spawn(move || hits(address))).collect();
    assert!(asking.into_iter().all(|asking| asking.join().unwrap() == 10.0));
    host.end();
}
