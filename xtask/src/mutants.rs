//! `cargo xtask mutants`: does a test fail for every small change of insn and stepping? By cargo-mutants.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{run, setup};

/// The rooms whose code is changed.
const ROOMS: [&str; 2] = ["insn", "stepping"];
/// Changes that no test can see, with the reason.
const LISTED: &str = "tests/mutants.txt";
/// The tests of `crossing` that are asked about what a room's own tests let live.
const CROSSING: [&str; 3] = ["--test=oracle", "--test=peers", "--test=lockstep_*"];

/// Which mutants.
#[derive(Args)]
pub(crate) struct Options {
    /// Room whose code is changed (insn, stepping); without it both
    room: Option<String>,
    /// Only source files that match this glob
    #[arg(long)]
    file: Option<String>,
}

/// Makes every mutant, runs the tests of its room, and for those that live the tests that cross rooms;
/// fails where one lives that is not listed.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::install_tool("cargo-mutants")?;
    let listed = run::root().join(LISTED);
    let listed = fs::read_to_string(&listed).with_context(|| format!("cannot read {}", listed.display()))?;
    let listed = parse(&listed)?;
    let mut alive = Vec::new();
    for room in ROOMS.into_iter().filter(|room| options.room.as_deref().is_none_or(|wanted| wanted == *room)) {
        let output = run::root().join("target/mutants").join(room);
        fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
        pass(room, room, &[], options, &output)?;
        pass(room, "crossing", &CROSSING, options, &output)?;
        let missed = output.join("mutants.out/missed.txt");
        let missed = fs::read_to_string(&missed).with_context(|| format!("cannot read {}", missed.display()))?;
        alive.extend(missed.lines().map(without_place));
    }
    let unlisted: Vec<&String> = alive.iter().filter(|mutant| !listed.contains_key(mutant.as_str())).collect();
    eprintln!("mutants: {} live, of which {} are listed in {LISTED}", alive.len(), alive.len() - unlisted.len());
    for mutant in &unlisted {
        eprintln!("{mutant}");
    }
    if !unlisted.is_empty() {
        bail!("no test fails for {} mutants", unlisted.len());
    }
    Ok(())
}

/// One run of cargo-mutants over what no earlier run has caught.
fn pass(room: &str, tests: &str, filter: &[&str], options: &Options, output: &Path) -> Result<()> {
    let mut command = run::cargo(&["mutants", "--iterate", "--minimum-test-timeout=60", "--colors=never"]);
    command.args(["--package", room, "--test-package", tests, "--output"]).arg(output);
    command.args(options.file.iter().flat_map(|glob| ["--file", glob]));
    if !filter.is_empty() {
        command.arg("--").args(filter);
    }
    eprintln!("$ cargo mutants --package {room} --test-package {tests}");
    let status = command.status().context("cannot start `cargo mutants`")?;
    // Its manual: 2 some live, 3 some tests did not end.
    match status.code() {
        Some(0 | 2 | 3) => Ok(()),
        _ => bail!("`cargo mutants --package {room} --test-package {tests}` failed: {status}"),
    }
}

/// `FILE:LINE:COLUMN: CHANGE` as `FILE: CHANGE`, which lines put in above do not alter.
fn without_place(mutant: &str) -> String {
    let mut parts = mutant.splitn(4, ':');
    match (parts.next(), parts.nth(2)) {
        (Some(file), Some(change)) => format!("{file}:{change}"),
        _ => mutant.to_owned(),
    }
}

/// Mutants by reason: paragraphs of a line `# reason` and the mutants below it.
fn parse(text: &str) -> Result<BTreeMap<String, String>> {
    let mut listed = BTreeMap::new();
    let mut reason = None;
    for (number, line) in text.lines().enumerate() {
        if let Some(words) = line.strip_prefix("# ") {
            reason = Some(words);
        } else if line.trim().is_empty() {
            reason = None;
        } else if let Some(reason) = reason {
            listed.insert(line.to_owned(), reason.to_owned());
        } else {
            bail!("{LISTED}:{}: `{line}` has no reason above it", number + 1);
        }
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_known_by_file_and_change_wherever_it_stands() {
        let told = "insn/src/x86/key.rs:45:20: replace + with - in key";
        assert_eq!(without_place(told), "insn/src/x86/key.rs: replace + with - in key");
    }

    #[test]
    fn every_listed_mutant_has_a_reason() {
        let text = "# No bit is in both.\na.rs: replace | with ^ in f\nb.rs: replace | with ^ in g\n";
        let listed = parse(text).unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed["b.rs: replace | with ^ in g"], "No bit is in both.");
        let error = parse("# A reason.\na\n\nb\n").unwrap_err().to_string();
        assert_eq!(error, "tests/mutants.txt:4: `b` has no reason above it");
    }
}
