//! fuzz/hours.txt: what was fuzzed, measured.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

use anyhow::{Context, Result};

use crate::libfuzzer::Session;
use crate::run;

/// The line of a session: day, commit, claim, processor seconds, inputs, findings.
pub(crate) fn line(target: &str, session: &Session) -> Result<String> {
    let day = run::output(Command::new("date").args(["-u", "+%F"]))?;
    let commit = run::output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(run::root()))?;
    let Session { cpu_seconds, executions, findings } = session;
    Ok(format!("{} {} {target} {cpu_seconds:.0} {executions} {}", day.trim(), commit.trim(), findings.len()))
}

/// Adds a line to the ledger.
pub(crate) fn add(line: &str) -> Result<()> {
    let path = run::root().join("fuzz/hours.txt");
    let mut file =
        OpenOptions::new().append(true).open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    writeln!(file, "{line}").with_context(|| format!("cannot write {}", path.display()))
}
