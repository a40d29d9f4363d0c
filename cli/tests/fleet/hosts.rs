//! Ten hosts, each with a network of its own, and one Prometheus.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::common::{ntrace, stderr};
use crate::host::Host;
use crate::judge::Judge;
use crate::program;

const HOSTS: u64 = 10;
/// The port at which each ntrace serves.
const PORT: u16 = 9464;

/// Runs a program that sets up networks.
fn set_up(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let output =
        Command::new(words.next().unwrap()).args(words).output().map_err(|error| format!("{command}: {error}"))?;
    output.status.success().then_some(()).ok_or_else(|| format!("{command}: {}", stderr(&output).trim()))
}

/// A host whose network has one cable, to this thread's network.
fn host(number: u64) -> Result<(Host, SocketAddr), String> {
    let mut command = Command::new("unshare");
    // The program's input has a line for the shell first.
    let script = "read go && exec \"$0\" \"$@\"";
    command.args(["--net", "sh", "-c", script]).arg(ntrace().get_program());
    let serve = format!("0.0.0.0:{PORT}");
    let mut host = Host::start_by(command, &["count", "-b", "work", "nap", "--serve", &serve], &program());
    let pid = host.ntrace.id();
    let own = fs::read_link("/proc/thread-self/ns/net").map_err(|error| error.to_string())?;
    crate::http::until("its own network", || {
        fs::read_link(format!("/proc/{pid}/ns/net")).ok().filter(|theirs| *theirs != own)
    });
    set_up(&format!("ip link add here{number} type veth peer name there netns {pid}"))?;
    set_up(&format!("ip address add 10.9.{number}.1/30 dev here{number}"))?;
    set_up(&format!("ip link set here{number} up"))?;
    let within = format!("nsenter --target {pid} --net");
    set_up(&format!("{within} ip address add 10.9.{number}.2/30 dev there"))?;
    set_up(&format!("{within} ip link set there up"))?;
    host.tell("go");
    assert_eq!(host.address().port(), PORT);
    Ok((host, format!("10.9.{number}.2:{PORT}").parse().unwrap()))
}

/// The queries of docs/fleets.md.
fn documented() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fleets.md");
    let text = fs::read_to_string(file).unwrap();
    let blocks = text.split("```promql\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn one_prometheus_sums_up_what_ten_hosts_do() {
    let test = "one_prometheus_sums_up_what_ten_hosts_do";
    // A network belongs to a thread.
    let run = std::thread::spawn(move || {
        if let Err(error) =
            crossing::network::leave().map_err(|error| error.to_string()).and_then(|()| set_up("ip link set lo up"))
        {
            return crossing::skip(test, format_args!("no network of its own: {error}"));
        }
        let (mut hosts, mut addresses) = (Vec::new(), Vec::new());
        for number in 1..=HOSTS {
            match host(number) {
                Ok((host, address)) => {
                    hosts.push(host);
                    addresses.push(address);
                }
                Err(error) => return crossing::skip(test, format_args!("no network for a host: {error}")),
            }
        }
        let Some(judge) = Judge::prometheus(test, &addresses) else { return };
        judge.await_value("count(up == 1)", HOSTS as f64);
        for (number, host) in (1..).zip(&mut hosts) {
            host.work("work", 100 * number);
            host.work("nap", 1);
        }
        let all: u64 = (1..=HOSTS).map(|number| 100 * number).sum();
        judge.expect("sum(ntrace_hits_total{location=~\".*!work\"})", all as f64);
        judge.expect("sum(ntrace_hits_total{location=~\".*!nap\"})", HOSTS as f64);
        judge.expect("sum(ntrace_hits_total{instance=\"10.9.7.2:9464\"})", 701.0);
        for query in documented().iter().filter(|query| query.contains("hits")) {
            crate::http::until(query, || Some(judge.ask(query)).filter(|rows| !rows.is_empty()));
        }
        let totals = hosts.into_iter().map(|host| host.end().table["total"].as_u64().unwrap());
        assert_eq!(totals.sum::<u64>(), all + HOSTS);
        judge.await_value("count(up == 0)", HOSTS as f64);
    });
    run.join().unwrap();
}
