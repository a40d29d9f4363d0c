//! `cargo xtask mutants`: does a test fail for every small change of insn and stepping? The changes are cargo-mutants'.
//!
//! Most are built into one program, which chooses one of them when it starts. Constants, and functions that make them, cannot
//! choose: of those cargo-mutants builds one program after the other.

mod hunt;
mod list;
mod switch;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{run, truth};
use list::Mutant;
use switch::Switched;
use tree::{Built, Program, Tree};

/// A room whose code is changed, and the tests that run: its own without those that compare checked-in files, and those of
/// `crossing` that execute what the room computes.
struct Room {
    /// Its folder.
    name: &'static str,
    package: &'static str,
    own: &'static [&'static str],
}

const ROOMS: [Room; 2] = [
    Room {
        name: "insn",
        package: "ntrace-insn",
        own: &["--lib", "--test=x86", "--test=arm64", "--test=x86_properties"],
    },
    Room { name: "stepping", package: "ntrace-stepping", own: &["--lib", "--test=x86", "--test=arm64"] },
];
const CROSSING: [&str; 3] = ["--test=oracle", "--test=lockstep_*", "--test=semantics"];
/// Changes that no test can see, with the reason.
const LISTED: &str = "tests/mutants.txt";

/// Which mutants.
#[derive(Args)]
pub(crate) struct Options {
    /// Room whose code is changed (insn, stepping); without it both
    room: Option<String>,
    /// Only source files that match this glob
    #[arg(long)]
    file: Option<String>,
    /// Put the numbers into docs/figures.txt
    #[arg(long, conflicts_with_all = ["room", "file"])]
    record: bool,
}

/// The outcome of a room's mutants.
struct Outcome {
    all: usize,
    /// Mutants that do not compile.
    unviable: usize,
    living: Vec<String>,
}

/// Makes every mutant and runs the tests. Fails if no test fails for an unlisted mutant.
pub(crate) fn run(options: &Options) -> Result<()> {
    run::install_tool("cargo-mutants")?;
    let listed = run::root().join(LISTED);
    let listed = fs::read_to_string(&listed).with_context(|| format!("cannot read {}", listed.display()))?;
    let listed = parse(&listed)?;
    let wanted = |room: &&Room| options.room.as_deref().is_none_or(|wanted| wanted == room.name);
    let (mut figures, mut unlisted) = (String::new(), Vec::new());
    for room in ROOMS.iter().filter(wanted) {
        let Outcome { all, unviable, living } = ask(room, options.file.as_deref())?;
        let caught = all - unviable - living.len();
        let line =
            format!("{} mutants={all} uncompilable={unviable} caught={caught} living={}", room.name, living.len());
        eprintln!("mutants: {line}");
        figures += &format!("mutants {line}\n");
        unlisted.extend(living.into_iter().filter(|mutant| !listed.contains_key(&list::without_place(mutant))));
    }
    if options.record {
        truth::record("mutants", &figures)?;
    }
    if !unlisted.is_empty() {
        bail!("no test fails for {} mutants that are not in {LISTED}:\n{}", unlisted.len(), unlisted.join("\n"));
    }
    Ok(())
}

/// Runs the tests for all mutants of a room.
fn ask(room: &Room, glob: Option<&str>) -> Result<Outcome> {
    let mutants = list::list(room.package, glob)?;
    let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for (place, mutant) in mutants.iter().enumerate() {
        files.entry(&mutant.file).or_default().push((place + 1, mutant));
    }
    let (mut together, mut single) = (BTreeMap::new(), Vec::new());
    for (file, mutants) in files {
        let text = fs::read_to_string(run::root().join(file)).with_context(|| format!("cannot read {file}"))?;
        let switchable = switch::is_switchable(&text, &mutants).with_context(|| format!("cannot read {file}"))?;
        let (chosen, others): (Vec<_>, Vec<_>) = mutants.into_iter().zip(switchable).partition(|(_, can)| *can);
        single.extend(others.into_iter().map(|((_, mutant), _)| mutant));
        together.insert(file, (text, chosen.into_iter().map(|(numbered, _)| numbered).collect::<Vec<_>>()));
    }
    let count = together.values().map(|(_, mutants)| mutants.len()).sum::<usize>();
    eprintln!("mutants: {} of {} in one program, {} each in its own", count, room.name, single.len());
    let (programs, unviable) = build(room, &mut together)?;
    let numbers: Vec<usize> =
        together.values().flat_map(|(_, mutants)| mutants.iter().map(|(number, _)| *number)).collect();
    let living = hunt::living(&programs, &numbers)?;
    let mut living: Vec<String> = living.iter().map(|number| mutants[number - 1].name.clone()).collect();
    eprintln!("mutants: these live:\n{}", living.join("\n"));
    let (missed, not_built) = one_by_one(room, &single)?;
    living.extend(missed);
    Ok(Outcome { all: mutants.len(), unviable: unviable + not_built, living })
}

/// Each file's text, and those of its mutants that are built together.
type Files<'a> = BTreeMap<&'a str, (String, Vec<(usize, &'a Mutant)>)>;

/// Builds the tests with all mutants that compile. Removes the others from `files`, and returns their number.
fn build(room: &Room, files: &mut Files<'_>) -> Result<(Vec<Program>, usize)> {
    let tree = Tree::copy()?;
    let root = format!("{}/src/lib.rs", room.name);
    let selection = [&["--package", room.package, "--package", "crossing"], room.own, &CROSSING[..]].concat();
    let mut unviable = BTreeSet::new();
    loop {
        let mut switched: BTreeMap<String, Switched> = BTreeMap::new();
        for (file, (text, mutants)) in files.iter() {
            switched.insert((*file).to_owned(), switch::switch(text, mutants)?);
        }
        let library = match switched.remove(&root) {
            Some(library) => library,
            None => Switched { text: fs::read_to_string(run::root().join(&root))?, lines: BTreeMap::new() },
        };
        switched.insert(root.clone(), Switched { text: library.text + switch::CHOICE, ..library });
        match tree.build(&selection, &switched)? {
            Built::Programs(programs) => return Ok((programs, unviable.len())),
            Built::Without(without) => {
                for (_, mutants) in files.values_mut() {
                    mutants.retain(|(number, _)| !without.contains(number));
                }
                unviable.extend(without);
            }
        }
    }
}

/// Lets cargo-mutants try the mutants that cannot be chosen, with the room's own tests. Returns the names of those that live, and the
/// number of those that do not compile.
fn one_by_one(room: &Room, mutants: &[&Mutant]) -> Result<(Vec<String>, usize)> {
    if mutants.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let output = run::root().join("target/mutants").join(room.name);
    fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    let places: Vec<&str> = mutants.iter().filter_map(|mutant| mutant.name.split(' ').next()).collect();
    let places = format!("^({})", places.join("|"));
    let mut command =
        run::cargo(&["mutants", "--minimum-test-timeout=20", "--colors=never", "--package", room.package]);
    command.args(["--re", &places, "--output"]).arg(&output);
    // For all calls of cargo. Behind `--` the arguments would only choose what runs, and cargo would build all tests.
    command.args(room.own.iter().map(|word| format!("--cargo-arg={word}")));
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    eprintln!("$ cargo mutants --package {}", room.package);
    let status = command.status().context("cannot start `cargo mutants`")?;
    // By cargo-mutants' manual: 2, some mutants live; 3, some tests did not end.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("`cargo mutants --package {}` failed: {status}", room.package);
    }
    let lines = |name: &str| -> Result<Vec<String>> {
        let path = output.join("mutants.out").join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    Ok((lines("missed.txt")?, lines("unviable.txt")?.len()))
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
    fn every_listed_mutant_has_a_reason() {
        let text = "# No bit is in both.\na.rs: replace | with ^ in f\nb.rs: replace | with ^ in g\n";
        let listed = parse(text).unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed["b.rs: replace | with ^ in g"], "No bit is in both.");
        let error = parse("# A reason.\na\n\nb\n").unwrap_err().to_string();
        assert_eq!(error, "tests/mutants.txt:4: `b` has no reason above it");
    }
}
