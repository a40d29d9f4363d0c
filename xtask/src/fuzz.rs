//! `cargo xtask fuzz`: the claims of fuzz/claims under libFuzzer, by cargo-fuzz on a nightly toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::corpus::Corpus;
use crate::libfuzzer::{self, Inputs, Limits, Session};
use crate::program::Program;
use crate::suite::Suite;
use crate::unchanged::Passed;
use crate::{apt, deadline, lanes, ledger, run, stamp};

/// Which claims, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Claim to fuzz; without it all of them, one after another
    target: Option<String>,
    /// Seconds in all, split among the claims
    #[arg(long, default_value_t = 60)]
    time: u64,
    /// Add what was measured to fuzz/hours.txt
    #[arg(long)]
    record: bool,
    /// Then replace the checked-in corpus by the fewest of all known inputs that cover as much
    #[arg(long)]
    minimize: bool,
}

/// The limits for each claim in the test lane: the same inputs in each run, unless the machine is very slow.
const SHORT: Limits = Limits { seconds: 60, runs: 20_000, seed: 1 };

/// Fuzzes, and fails if a claim does not hold for an input, which is stored.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(reason) = obstacle() {
        bail!(reason);
    }
    let targets = match &options.target {
        Some(target) if targets()?.contains(target) => vec![target.clone()],
        Some(target) => bail!("no claim is called {target}; there are:\n{}", targets()?.join("\n")),
        None => targets()?,
    };
    let limits = Limits { seconds: options.time.div_ceil(targets.len() as u64).max(1), runs: u64::MAX, seed: 0 };
    let unlisted = fuzz(&targets, limits, options.record)?;
    if !unlisted.is_empty() {
        bail!("{} deviations of peers are not in fuzz/deviations.txt:\n{}", unlisted.len(), unlisted.join("\n"));
    }
    if options.minimize {
        for target in &targets {
            Corpus::of(target).minimize(&binary(target)?)?;
        }
    }
    Ok(())
}

/// The lane of `cargo xtask test`, without targets whose claims held before and that have not changed. Unlisted deviations of peers stand in the
/// summary and fail nothing: they are no fault of ours.
pub(crate) fn short(summary: &Path) -> Result<()> {
    let targets = targets()?;
    build(&targets)?;
    let mut programs = Vec::new();
    for target in &targets {
        programs.push(Program { name: target.clone(), path: binary(target)?, package: run::root() });
    }
    let suite = Suite { programs, ntrace: None, others: Vec::new() };
    let passed = Passed::in_place("fuzz", &[], &format!("{SHORT:?}"))?;
    let suite = suite.changed(&passed, "fuzz", summary)?;
    passed.forget(&suite.programs)?;
    let mut failures = Vec::new();
    for program in &suite.programs {
        if deadline::is_over() {
            lanes::note_skipped(summary, &program.name, deadline::OVER)?;
            continue;
        }
        let Outcome { session, failures: new } = fuzz_one(&program.name, SHORT, &stamp::stamp()?, false)?;
        let lines: Vec<String> =
            session.unlisted.iter().map(|deviation| format!("UNLISTED deviation of a peer: {deviation}")).collect();
        lines.iter().try_for_each(|line| lanes::note(summary, line))?;
        // One that the time has ended has not seen all inputs.
        passed.note(program, new.is_empty() && session.executions >= SHORT.runs, &lines.join("\n"))?;
        failures.extend(new);
    }
    report(&failures)
}

/// Why nothing can be fuzzed here.
pub(crate) fn obstacle() -> Option<String> {
    let listed = run::output(Command::new("rustup").args(["toolchain", "list"])).unwrap_or_default();
    let is_there = listed.lines().any(|line| line.starts_with("nightly"));
    (!is_there).then(|| "no nightly toolchain; `rustup toolchain install nightly --profile minimal` gets one".into())
}

/// Fuzzes each target, and returns the deviations of peers that the targets report.
fn fuzz(targets: &[String], limits: Limits, record: bool) -> Result<Vec<String>> {
    let stamp = stamp::stamp()?;
    build(targets)?;
    let (mut failures, mut unlisted) = (Vec::new(), Vec::new());
    for target in targets {
        let outcome = fuzz_one(target, limits, &stamp, record)?;
        unlisted.extend(outcome.session.unlisted);
        failures.extend(outcome.failures);
    }
    report(&failures).map(|()| unlisted)
}

/// What fuzzing a target came to, and how each finding is repeated.
struct Outcome {
    session: Session,
    failures: Vec<String>,
}

/// Fuzzes a target that is built.
fn fuzz_one(target: &str, limits: Limits, stamp: &str, record: bool) -> Result<Outcome> {
    let corpus = Corpus::of(target);
    let (files, folder) = (corpus.unpack()?, corpus.folder());
    let inputs = if limits.seed == 0 { Inputs::Growing(&folder) } else { Inputs::Fixed(&files) };
    let end = Instant::now() + Duration::from_secs(limits.seconds);
    let session = libfuzzer::run(&binary(target)?, &inputs, &artifacts(target), limits, end)?;
    let line = ledger::line(stamp, target, &session);
    println!("{line}");
    if record {
        ledger::add(&line)?;
    }
    let again = |finding: &PathBuf| {
        format!("{target} does not hold; again: cargo run -p claims -- {target} {}", finding.display())
    };
    let failures = session.findings.iter().map(again).collect();
    Ok(Outcome { session, failures })
}

fn report(failures: &[String]) -> Result<()> {
    if !failures.is_empty() {
        bail!("{} findings\n{}", failures.len(), failures.join("\n"));
    }
    Ok(())
}

/// The names of the claims, read from the files of their targets.
fn targets() -> Result<Vec<String>> {
    let folder = run::root().join("fuzz/fuzz_targets");
    let mut targets = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        targets.extend(entry?.path().file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    Ok(targets)
}

/// Builds with libFuzzer's instrumentation. Sanitizers stay off: the fuzzed code forbids `unsafe`, and runs three times faster without.
fn build(targets: &[String]) -> Result<()> {
    run::install_tool("cargo-fuzz")?;
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fuzz", "build", "--fuzz-dir", "fuzz", "--sanitizer", "none"]);
    command.arg("--target-dir").arg(libfuzzer::folder()).current_dir(run::root());
    // cargo-fuzz accepts the option only once.
    let peers = [("zydis", run::is_installed("cmake")), ("bad64", apt::has_libclang())];
    let peers: Vec<&str> = peers.into_iter().filter_map(|(peer, can_build)| can_build.then_some(peer)).collect();
    command.args(["--features", &peers.join(",")]);
    if let [target] = targets {
        command.arg(target);
    }
    // These variables name the toolchain that runs this program.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    run::run(&mut command)
}

fn artifacts(target: &str) -> PathBuf {
    libfuzzer::folder().join("findings").join(target)
}

/// The built target, below the folder of its target triple.
fn binary(target: &str) -> Result<PathBuf> {
    let entries =
        fs::read_dir(libfuzzer::folder()).with_context(|| format!("cannot read {}", libfuzzer::folder().display()))?;
    let built = entries.flatten().map(|entry| entry.path().join("release").join(target));
    built
        .filter(|path| path.is_file())
        .max_by_key(|path| modified(path))
        .with_context(|| format!("{target} is not built"))
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}
