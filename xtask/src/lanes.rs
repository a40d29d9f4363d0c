//! Lanes: named steps, each of which passes, fails or is skipped with a reason. All lanes run, even if one fails.
//!
//! Each runs in a process of its own. The output of a single lane is shown as it comes. Several run side by side and write to a log each,
//! which is printed when the lane ends.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{deadline, run};

/// The variable that names the file to which a test appends `SKIPPED NAME: REASON` when it cannot run.
pub(crate) const SKIPPED: &str = "NTRACE_SKIPPED";

/// By how much lanes that may run beside a virtual machine give way to it (`nice(1)`).
const BESIDE: &str = "10";

/// The variable that is set in a long run.
const IS_LONG: &str = "NTRACE_LONG";
/// The variables that a long run sets for tests that have a short form.
const LONG_FORMS: [(&str, &str); 4] =
    [(IS_LONG, "1"), ("NTRACE_WHOLE_PROGRAMS", "all"), ("NTRACE_SOAK", "all"), ("NTRACE_ENCODINGS", "all")];

/// One named step.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    /// The place that it occupies.
    pub(crate) place: Place,
    /// Whether it begins when the lane of [`Place::Cache`] has ended.
    pub(crate) needs_cache: bool,
    /// Gives the reason why it cannot run here, if there is one.
    pub(crate) obstacle: fn() -> Option<String>,
    pub(crate) step: fn(ledger: &Path) -> Result<()>,
}

/// What a lane occupies while it runs: lanes of one place follow each other, lanes of different places run side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The cache outside the checkout, which one lane fills.
    Cache,
    /// The host's target folder.
    Host,
    /// The fuzzer's target folder.
    Fuzzer,
    /// The target folder of the listings of public items.
    Interface,
    /// The target folder of the oldest Rust.
    OldestRust,
    /// The target folder of arm64.
    Arm64,
    /// The processors, for a virtual machine. Its processors wait for each other, and where one has to wait for the host, the other spins:
    /// two machines side by side take twice as long as one after the other.
    Processors,
}

/// How a lane ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// How a lane ended, and what it took.
struct Report {
    name: &'static str,
    outcome: Outcome,
    time: Duration,
    /// Processor time of the lane's processes in seconds, where it was measured.
    processor: Option<f64>,
    /// Number of tests that passed, by the test programs' own lines, where the lane has a log.
    tests: Option<u64>,
    /// The lane's ledger.
    notes: String,
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Ordinary,
    /// Includes programs that passed before and have not changed.
    Again,
    /// Includes what takes hours.
    Long,
}

/// The variable that is set where programs that passed unchanged run again.
pub(crate) const AGAIN: &str = "NTRACE_AGAIN";

/// What a lane says of programs that did not run.
pub(crate) const UNCHANGED: &str = "passed before and have not changed; `cargo xtask test --again` runs them";

/// Whether programs run again that passed before and have not changed.
pub(crate) fn runs_all() -> bool {
    is_long() || std::env::var_os(AGAIN).is_some()
}

/// Whether this lane belongs to a long run.
pub(crate) fn is_long() -> bool {
    std::env::var_os(IS_LONG).is_some()
}

/// The variables that ask for long forms of tests and are set, with their values.
pub(crate) fn long_forms() -> Vec<(&'static str, OsString)> {
    let all = LONG_FORMS.iter().filter(|(name, _)| *name != IS_LONG);
    all.filter_map(|(name, _)| Some((*name, std::env::var_os(name)?))).collect()
}

/// The obstacle of a lane that can always run.
pub(crate) fn no_obstacle() -> Option<String> {
    None
}

/// Notes that something could not run, for the summary.
pub(crate) fn note_skipped(ledger: &Path, name: &str, reason: &str) -> Result<()> {
    note(ledger, &format!("SKIPPED {name}: {reason}"))
}

/// Adds a line to the summary.
pub(crate) fn note(ledger: &Path, line: &str) -> Result<()> {
    let file = fs::OpenOptions::new().append(true).open(ledger);
    let written = file.and_then(|mut file| writeln!(file, "{line}"));
    written.with_context(|| format!("cannot write {}", ledger.display()))
}

/// Runs every lane, prints the summary, and fails where one failed.
pub(crate) fn run_all(lanes: &[Lane], length: Length) -> Result<()> {
    let folder = folder();
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let reports = match lanes {
        [lane] => {
            eprintln!("\n== {}", lane.name);
            vec![apart(lane, length, None)?]
        }
        _ => side_by_side(lanes, length)?,
    };
    let failures = reports.iter().filter(|report| matches!(report.outcome, Outcome::Failed(_))).count();
    eprint!("\n{}", summary(&reports));
    if failures > 0 {
        bail!("{failures} of {} lanes failed", reports.len());
    }
    Ok(())
}

/// Runs one lane for another process of this program, which reads the report from a file.
pub(crate) fn run_for_parent(lane: &Lane) -> Result<()> {
    let Report { outcome, processor, notes, .. } = inline(lane)?;
    let (outcome, reason) = match outcome {
        Outcome::Passed => ("passed", String::new()),
        Outcome::Failed(reason) => ("failed", reason),
        Outcome::Skipped(reason) => ("skipped", reason),
    };
    let report = json!({ "outcome": outcome, "reason": reason, "processor": processor, "notes": notes });
    let path = file(lane, "json");
    fs::write(&path, report.to_string()).with_context(|| format!("cannot write {}", path.display()))
}

/// Runs one lane in this process.
fn inline(lane: &Lane) -> Result<Report> {
    let ledger = file(lane, &format!("ledger.{}", std::process::id()));
    fs::write(&ledger, "").with_context(|| format!("cannot write {}", ledger.display()))?;
    let start = Instant::now();
    let late = || deadline::is_over().then(|| deadline::OVER.to_owned());
    let outcome = match late().or_else(lane.obstacle) {
        Some(reason) => Outcome::Skipped(reason),
        None => match (lane.step)(&ledger) {
            Ok(()) => Outcome::Passed,
            Err(error) => Outcome::Failed(format!("{error:#}")),
        },
    };
    let notes = fs::read_to_string(&ledger).with_context(|| format!("cannot read {}", ledger.display()))?;
    fs::remove_file(&ledger).with_context(|| format!("cannot remove {}", ledger.display()))?;
    let (time, processor) = (start.elapsed(), processor_seconds());
    Ok(Report { name: lane.name, outcome, time, processor, tests: None, notes })
}

/// Runs as many lanes at once as there are processors, the earlier ones first. Gives the reports in the order of the lanes.
fn side_by_side(lanes: &[Lane], length: Length) -> Result<Vec<Report>> {
    let slots = std::thread::available_parallelism().map_or(1, usize::from);
    let mut reports: Vec<Option<Report>> = lanes.iter().map(|_| None).collect();
    let mut waiting: Vec<usize> = (0..lanes.len()).collect();
    let mut running: Vec<usize> = Vec::new();
    let (sender, ended) = mpsc::channel();
    let start = Instant::now();
    std::thread::scope(|scope| {
        loop {
            let next = next_to_start(lanes, &waiting, &running).filter(|_| running.len() < slots);
            if let Some(next) = next {
                let number = waiting.remove(next);
                running.push(number);
                eprintln!("[{:5.0} s] {} begins", start.elapsed().as_secs_f64(), lanes[number].name);
                let sender = sender.clone();
                scope.spawn(move || {
                    let lane = &lanes[number];
                    // After an error of another lane nobody receives the report.
                    let _ = sender.send((number, apart(lane, length, Some(&file(lane, "log")))));
                });
                continue;
            }
            if running.is_empty() {
                break;
            }
            let (number, report) = ended.recv().context("a lane's thread ended without a report")?;
            running.retain(|other| *other != number);
            let report = report?;
            let log = fs::read(file(&lanes[number], "log")).unwrap_or_default();
            eprintln!("\n== {}\n{}", report.name, String::from_utf8_lossy(&log));
            eprintln!("[{:5.0} s] {} {}", start.elapsed().as_secs_f64(), report.name, word(&report.outcome));
            reports[number] = Some(report);
        }
        anyhow::Ok(())
    })?;
    Ok(reports.into_iter().flatten().collect())
}

/// The first of the waiting lanes whose place is free and for which the cache is ready, by its index in `waiting`.
fn next_to_start(lanes: &[Lane], waiting: &[usize], running: &[usize]) -> Option<usize> {
    let is_full = !waiting.iter().chain(running).any(|number| lanes[*number].place == Place::Cache);
    let is_ready = |number: &usize| {
        let Lane { place, needs_cache, .. } = lanes[*number];
        (is_full || !needs_cache) && !running.iter().any(|other| lanes[*other].place == place)
    };
    waiting.iter().position(is_ready)
}

/// Runs one lane in a process of its own, which writes to `log`, or to this process's output.
fn apart(lane: &Lane, length: Length, log: Option<&Path>) -> Result<Report> {
    let start = Instant::now();
    let told = file(lane, "json");
    if told.exists() {
        fs::remove_file(&told).with_context(|| format!("cannot remove {}", told.display()))?;
    }
    // This program, even if another one has been built at its path meanwhile.
    let program = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    // Virtual machines come first.
    let is_beside = log.is_some() && lane.place != Place::Processors;
    let mut command = Command::new(if is_beside { Path::new("nice") } else { &program });
    if is_beside {
        command.args(["-n", BESIDE]).arg(&program);
    }
    command.args(["lane", lane.name]).stdin(Stdio::null());
    match length {
        Length::Ordinary => {}
        Length::Again => drop(command.env(AGAIN, "1")),
        Length::Long => drop(command.envs(LONG_FORMS)),
    }
    if let Some(path) = log {
        let log = fs::File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
        command.stderr(log.try_clone()?).stdout(log);
    }
    let status = command.status().with_context(|| format!("cannot start the lane {}", lane.name))?;
    let told = fs::read_to_string(&told).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let Some(told) = told else {
        let outcome = Outcome::Failed(format!("its process ended without a report: {status}"));
        let (time, notes) = (start.elapsed(), String::new());
        return Ok(Report { name: lane.name, outcome, time, processor: None, tests: None, notes });
    };
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    let outcome = match &*text("outcome") {
        "passed" => Outcome::Passed,
        "skipped" => Outcome::Skipped(text("reason")),
        _ => Outcome::Failed(text("reason")),
    };
    let log = log.and_then(|path| fs::read(path).ok());
    let tests = log.map(|log| passed_tests(&String::from_utf8_lossy(&log)));
    let processor = told["processor"].as_f64();
    Ok(Report { name: lane.name, outcome, time: start.elapsed(), processor, tests, notes: text("notes") })
}

/// The folder of the lanes' logs and reports.
fn folder() -> PathBuf {
    run::root().join("target/lanes")
}

fn file(lane: &Lane, extension: &str) -> PathBuf {
    let name: String =
        lane.name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    folder().join(format!("{name}.{extension}"))
}

/// Processor time of this process and of all that it has waited for, in seconds (`proc_pid_stat(5)`, fields 14 to 17).
fn processor_seconds() -> Option<f64> {
    // The kernel gives userspace ticks of a hundredth of a second on x86-64 and arm64.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(4);
    Some(times.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS)
}

/// Number of tests that passed, by lines such as `test result: ok. 12 passed; 0 failed; …`.
fn passed_tests(log: &str) -> u64 {
    let results =
        log.lines().filter_map(|line| line.split_once("test result: ")?.1.split_once(". ")?.1.split_once(" passed"));
    results.filter_map(|(number, _)| number.parse::<u64>().ok()).sum()
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "FAILED",
        Outcome::Skipped(_) => "SKIPPED",
    }
}

/// A table of the lanes, then what failed, then what was skipped.
fn summary(reports: &[Report]) -> String {
    let mut text =
        format!("== summary\n{:8}{:>8}{:>11}{:>7}{:>9}  lane\n", "", "seconds", "processor", "tests", "skipped");
    let mut lines: Vec<&str> = reports.iter().flat_map(|report| report.notes.lines()).collect();
    lines.retain(|line| !line.is_empty());
    lines.sort_unstable();
    lines.dedup();
    for Report { name, outcome, time, processor, tests, notes } in reports {
        let processor = processor.map_or(String::new(), |seconds| format!("{seconds:.1}"));
        let skipped = notes.lines().filter(|line| line.starts_with("SKIPPED")).count();
        let tests = tests.map_or(String::new(), |number| number.to_string());
        let (word, time) = (word(outcome), time.as_secs_f64());
        text += &format!("{word:8}{time:8.1}{processor:>11}{tests:>7}{skipped:9}  {name}\n");
    }
    for Report { name, outcome, .. } in reports {
        if let Outcome::Failed(reason) = outcome {
            text += &format!("FAILED {name}: {reason}\n");
        }
    }
    for Report { name, outcome, .. } in reports {
        if let Outcome::Skipped(reason) = outcome {
            text += &format!("SKIPPED {name}: {reason}\n");
        }
    }
    if !text.contains("\nSKIPPED ") && !lines.iter().any(|line| line.starts_with("SKIPPED")) {
        text += "nothing was skipped\n";
    }
    for line in lines {
        text += line;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &'static str, outcome: Outcome, notes: &str) -> Report {
        Report { name, outcome, time: Duration::ZERO, processor: Some(1.5), tests: Some(7), notes: notes.into() }
    }

    #[test]
    fn the_last_lines_name_what_was_skipped_and_why() {
        let text = summary(&[
            report("good", Outcome::Passed, "SKIPPED b: y\nSKIPPED a: x\nSKIPPED a: x\n"),
            report("absent", Outcome::Skipped("no such device".into()), ""),
            report("bad", Outcome::Failed("exit status: 1".into()), "SKIPPED a: x\n"),
        ]);
        let last: Vec<&str> = text.lines().skip(5).collect();
        assert_eq!(
            last,
            ["FAILED bad: exit status: 1", "SKIPPED absent: no such device", "SKIPPED a: x", "SKIPPED b: y"]
        );
        assert!(!text.contains("nothing was skipped"), "{text}");
    }

    #[test]
    fn that_nothing_was_skipped_is_said() {
        let text = summary(&[report("good", Outcome::Passed, "")]);
        assert!(text.ends_with("nothing was skipped\n"), "{text}");
    }

    #[test]
    fn lanes_of_one_place_follow_each_other_and_others_run_beside_them() {
        let lane = |place| Lane { name: "", place, needs_cache: false, obstacle: no_obstacle, step: |_| Ok(()) };
        let lanes = [Place::Host, Place::Host, Place::Arm64].map(lane);
        assert_eq!(next_to_start(&lanes, &[0, 1, 2], &[]), Some(0));
        assert_eq!(next_to_start(&lanes, &[1, 2], &[0]), Some(1));
        assert_eq!(next_to_start(&lanes, &[1], &[0, 2]), None);
        assert_eq!(next_to_start(&lanes, &[1], &[2]), Some(0));
    }

    #[test]
    fn lanes_that_need_the_cache_wait_until_it_is_filled() {
        let lane = |place, needs_cache| Lane { name: "", place, needs_cache, obstacle: no_obstacle, step: |_| Ok(()) };
        let lanes = [lane(Place::Cache, false), lane(Place::Arm64, true), lane(Place::Host, false)];
        assert_eq!(next_to_start(&lanes, &[1, 2], &[0]), Some(1));
        assert_eq!(next_to_start(&lanes, &[1], &[0, 2]), None);
        assert_eq!(next_to_start(&lanes, &[1], &[2]), Some(0));
    }

    #[test]
    fn passed_tests_are_counted_by_the_lines_of_their_programs() {
        let log = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 0 ignored\r\ntest result: FAILED. 3 passed; 1 failed\n";
        assert_eq!(passed_tests(log), 15);
    }
}
