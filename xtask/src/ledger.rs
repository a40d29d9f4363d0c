//! fuzz/hours.txt: the record of fuzzing sessions.

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::{Context, Result};

use crate::libfuzzer::Session;
use crate::run;

/// The line of a session: day, commit, claim, processor seconds, inputs, findings.
pub(crate) fn line(stamp: &str, target: &str, session: &Session) -> String {
    let Session { cpu_seconds, executions, findings, unlisted } = session;
    let found = findings.len() + unlisted.len();
    format!("{stamp} {target} {cpu_seconds:.0} {executions} {found}")
}

/// Adds a line to the ledger.
pub(crate) fn add(line: &str) -> Result<()> {
    let path = run::root().join("fuzz/hours.txt");
    let mut file =
        OpenOptions::new().append(true).open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    writeln!(file, "{line}").with_context(|| format!("cannot write {}", path.display()))
}
