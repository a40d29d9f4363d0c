//! Lanes: named steps of which each passes, fails or is skipped with a reason; all run, whatever one of them does.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run;

/// The variable that names the file to which a test appends `SKIPPED NAME: REASON` when it cannot run.
pub(crate) const SKIPPED: &str = "NTRACE_SKIPPED";

/// One named step.
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    /// A reason for which it cannot run here.
    pub(crate) obstacle: fn() -> Option<String>,
    pub(crate) step: fn(ledger: &Path) -> Result<()>,
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// No reason against running.
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
pub(crate) fn run_all(lanes: Vec<Lane>) -> Result<()> {
    let folder = run::root().join("target");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let ledger = folder.join(format!("skipped.{}", std::process::id()));
    fs::write(&ledger, "").with_context(|| format!("cannot write {}", ledger.display()))?;
    let mut results = Vec::new();
    for lane in lanes {
        eprintln!("\n== {}", lane.name);
        let start = Instant::now();
        let outcome = match (lane.obstacle)() {
            Some(reason) => Outcome::Skipped(reason),
            None => match (lane.step)(&ledger) {
                Ok(()) => Outcome::Passed,
                Err(error) => Outcome::Failed(format!("{error:#}")),
            },
        };
        results.push((lane.name, outcome, start.elapsed()));
    }
    let skipped = fs::read_to_string(&ledger).with_context(|| format!("cannot read {}", ledger.display()))?;
    fs::remove_file(&ledger).with_context(|| format!("cannot remove {}", ledger.display()))?;
    let failures = results.iter().filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_))).count();
    eprint!("\n{}", summary(&results, &skipped));
    if failures > 0 {
        bail!("{failures} of {} lanes failed", results.len());
    }
    Ok(())
}

fn summary(results: &[(&str, Outcome, Duration)], skipped: &str) -> String {
    let mut text = String::from("== summary\n");
    for (name, outcome, time) in results {
        let word = match outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "FAILED",
            Outcome::Skipped(_) => "SKIPPED",
        };
        text += &format!("{word:8}{name:24}{:6.1} s\n", time.as_secs_f64());
    }
    for (name, outcome, _) in results {
        match outcome {
            Outcome::Passed => {}
            Outcome::Failed(reason) => text += &format!("FAILED {name}: {reason}\n"),
            Outcome::Skipped(reason) => text += &format!("SKIPPED {name}: {reason}\n"),
        }
    }
    let mut lines: Vec<&str> = skipped.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines.dedup();
    if !skipped.contains("SKIPPED") && !results.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Skipped(_))) {
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

    #[test]
    fn the_last_lines_name_what_was_skipped_and_why() {
        let results = [
            ("good", Outcome::Passed, Duration::ZERO),
            ("bad", Outcome::Failed("exit status: 1".into()), Duration::ZERO),
            ("absent", Outcome::Skipped("no such device".into()), Duration::ZERO),
        ];
        let text = summary(&results, "SKIPPED b: y\nSKIPPED a: x\nSKIPPED a: x\n");
        let last: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(
            last,
            ["FAILED bad: exit status: 1", "SKIPPED absent: no such device", "SKIPPED a: x", "SKIPPED b: y"]
        );
    }
}
