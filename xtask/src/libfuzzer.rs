//! One run of a libFuzzer program.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};

/// When to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Seconds.
    pub(crate) seconds: u64,
    /// Inputs.
    pub(crate) runs: u64,
    /// Of the random numbers; 0 for another one each time.
    pub(crate) seed: u32,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Processor time of the fuzzing alone, in seconds.
    pub(crate) cpu_seconds: f64,
    pub(crate) executions: u64,
    /// Inputs of which the claim does not hold.
    pub(crate) findings: Vec<PathBuf>,
    /// What a claim told besides: deviations of peers that its list does not have.
    pub(crate) unlisted: Vec<String>,
}

/// Inputs to start with, and what is made of those that cover more.
pub(crate) enum Inputs<'a> {
    /// Reads a folder, and adds to it.
    Growing(&'a Path),
    /// These files in this order, and keeps nothing: the same each time.
    Fixed(&'a [PathBuf]),
}

/// The longest input.
const LONGEST: u32 = 4096;

/// The first word of a line that tells of such a deviation.
const UNLISTED: &str = "UNLISTED ";

/// Where everything of fuzzing is that is not checked in.
pub(crate) fn folder() -> PathBuf {
    crate::run::root().join("target/fuzz")
}

/// Runs `binary` over `inputs` until `end`; a finding lies in `artifacts` and ends it.
pub(crate) fn run(
    binary: &Path,
    inputs: &Inputs<'_>,
    artifacts: &Path,
    limits: Limits,
    end: Instant,
) -> Result<Session> {
    fs::create_dir_all(artifacts).with_context(|| format!("cannot make {}", artifacts.display()))?;
    let before = files(artifacts)?;
    let log = artifacts.with_extension("log");
    let file = File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
    let seconds = end.saturating_duration_since(Instant::now()).as_secs().max(1);
    let mut command = Command::new(binary);
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={LONGEST}"));
    if limits.runs < u64::MAX {
        command.arg(format!("-runs={}", limits.runs));
    }
    command.arg(format!("-seed={}", limits.seed));
    command.args(["-print_final_stats=1", "-rss_limit_mb=2048", "-timeout=60"]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).stderr(file);
    match inputs {
        Inputs::Growing(folder) => command.arg(folder),
        Inputs::Fixed([]) => &mut command,
        Inputs::Fixed(files) => command.arg(format!("-seed_inputs=@{}", list(artifacts, files)?.display())),
    };
    let used = cpu_seconds()?;
    let status = command.status().with_context(|| format!("cannot start {}", binary.display()))?;
    let cpu_seconds = cpu_seconds()? - used;
    let text = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
    let findings: Vec<PathBuf> = files(artifacts)?.into_iter().filter(|path| !before.contains(path)).collect();
    if !status.success() {
        eprintln!("{}", tail(&text));
        anyhow::ensure!(!findings.is_empty(), "{} failed: {status}; see {}", binary.display(), log.display());
    }
    let unlisted = text.lines().filter_map(|line| line.strip_prefix(UNLISTED)).map(str::to_owned).collect();
    Ok(Session { cpu_seconds, executions: executions(&text).unwrap_or(0), findings, unlisted })
}

/// A file that names files, by commas.
fn list(artifacts: &Path, files: &[PathBuf]) -> Result<PathBuf> {
    let path = artifacts.with_extension("inputs");
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    fs::write(&path, names.join(",")).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Smallest set of the inputs in `from` that covers as much, into `to`.
pub(crate) fn merge(binary: &Path, to: &Path, from: &Path) -> Result<()> {
    let mut command = Command::new(binary);
    command.args(["-set_cover_merge=1", "-rss_limit_mb=2048"]).arg(format!("-max_len={LONGEST}")).arg(to).arg(from);
    let output = command.output().with_context(|| format!("cannot start {}", binary.display()))?;
    anyhow::ensure!(output.status.success(), "{}", tail(&String::from_utf8_lossy(&output.stderr)));
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Of all children that have ended.
fn cpu_seconds() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Inputs tried: by the statistics at the end, or, where a finding ended it, by the last line with a count.
fn executions(log: &str) -> Option<u64> {
    let exact = log.lines().rev().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let count = exact.or_else(|| log.lines().rev().find_map(|line| line.strip_prefix('#')));
    count?.split_whitespace().next()?.parse().ok()
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_read_from_the_statistics_or_the_last_count() {
        assert_eq!(executions("#8\tpulse\nstat::number_of_executed_units: 12\nstat::x: 3\n"), Some(12));
        assert_eq!(executions("#8\tpulse\n#16\tNEW  cov: 3\npanicked\n"), Some(16));
        assert_eq!(executions("cannot start\n"), None);
    }
}
