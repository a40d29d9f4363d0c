//! ntrace attaches and detaches, or is killed, while the program creates threads and processes in every way. The program is not harmed, no
//! process remains, and nothing waits for long.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{build, ntrace};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The longest time until ntrace ends.
const LIMIT: Duration = Duration::from_secs(5);

/// The number of rounds of each storm: few, or the number in the variable NTRACE_STORM.
fn rounds() -> u32 {
    std::env::var("NTRACE_STORM").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(15)
}

/// Pseudo-random numbers that differ between rounds and are equal in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Returns a field of /proc/PID/status. `None` if there is no such process.
fn status(pid: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(|value| value.trim().to_owned())
}

fn is_gone(pid: u32) -> bool {
    status(pid, "State").is_none_or(|state| state.starts_with(['Z', 'X']))
}

/// Returns the children of a process.
fn children(pid: u32) -> BTreeSet<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

fn within_limit(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// The process that gets a signal.
#[derive(Clone, Copy)]
enum To {
    Ntrace,
    /// The worker process of ntrace, which traces.
    Worker,
}

/// A program that performs the actions of the letters (storm.c), and the arguments of ntrace.
fn storm(letters: &str, to: To, signals: &[Signal]) {
    let mut target = Command::new(build("storm.c", &["-pthread"]))
        .arg(letters)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds() {
        let signal = signals[round as usize % signals.len()];
        let what = format!("'{letters}', round {round}, {signal}");
        let mut ntrace = attached(target.id());
        if matches!(to, To::Worker) {
            within_limit(&format!("{what}: a worker"), || !children(ntrace.id()).is_empty());
        }
        std::thread::sleep(Duration::from_micros(dice.below(40_000)));
        let workers = children(ntrace.id());
        let receivers = match to {
            To::Ntrace => BTreeSet::from([ntrace.id()]),
            To::Worker => workers.clone(),
        };
        for receiver in receivers {
            let _ = kill(Pid::from_raw(receiver as i32), signal);
        }
        within_limit(&format!("{what}: the end of ntrace"), || ntrace.try_wait().unwrap().is_some());
        within_limit(&format!("{what}: the end of the tracer"), || workers.iter().all(|&worker| is_gone(worker)));
        if let Some(status) = target.try_wait().unwrap() {
            panic!("{what}: the program ended, {status}, and said {:?}", said(&mut target));
        }
        within_limit(&format!("{what}: the program's freedom"), || {
            status(target.id(), "TracerPid").is_none_or(|tracer| tracer == "0")
        });
    }
    drop(target.stdin.take());
    assert_eq!((said(&mut target).as_str(), target.wait().unwrap().code()), ("done\n", Some(0)), "'{letters}'");
}

/// Returns the output of the program up to its end.
fn said(target: &mut Child) -> String {
    let mut text = String::new();
    target.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

fn attached(pid: u32) -> Child {
    let mut ntrace = ntrace();
    ntrace.args(["count", "-b", "work", "-p", &pid.to_string(), "-o", "/dev/null"]);
    ntrace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

const ENDS: [Signal; 3] = [Signal::SIGINT, Signal::SIGKILL, Signal::SIGTERM];

#[test]
fn programs_that_spawn_are_not_harmed() {
    storm("s", To::Ntrace, &ENDS);
}

#[test]
fn programs_that_vfork_are_not_harmed() {
    storm("ve", To::Ntrace, &ENDS);
}

#[test]
fn programs_that_share_their_memory_with_other_processes_are_not_harmed() {
    storm("m", To::Ntrace, &ENDS);
}

#[test]
fn programs_that_fork_and_make_threads_are_not_harmed() {
    storm("ft", To::Ntrace, &ENDS);
}

#[test]
fn programs_that_execute_themselves_are_not_harmed() {
    storm("tx", To::Ntrace, &ENDS);
}

#[test]
fn programs_that_do_all_of_it_are_not_harmed() {
    storm("svemftx", To::Ntrace, &ENDS);
}

#[test]
fn programs_are_not_harmed_when_the_worker_is_killed() {
    for letters in ["sx", "svemftx", "f", "t"] {
        storm(letters, To::Worker, &[Signal::SIGKILL]);
    }
}
