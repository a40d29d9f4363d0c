//! One run of a libFuzzer program.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Seconds.
    pub(crate) seconds: u64,
    /// Inputs.
    pub(crate) runs: u64,
    /// The seed of the random numbers; 0 for a new one in each run.
    pub(crate) seed: u32,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Processor time of the fuzzing alone, in seconds.
    pub(crate) cpu_seconds: f64,
    pub(crate) executions: u64,
    /// Inputs for which the claim does not hold.
    pub(crate) findings: Vec<PathBuf>,
    /// Deviations of peers that the claim reported and its list lacks.
    pub(crate) unlisted: Vec<String>,
}

/// The inputs to start with, and whether inputs that cover more are kept.
pub(crate) enum Inputs<'a> {
    /// The inputs of a folder. New inputs that cover more are added to it.
    Growing(&'a Path),
    /// These files in this order. New inputs are not kept, so that every run is the same.
    Fixed(&'a [PathBuf]),
}

/// The most bytes of an input.
const LONGEST: u32 = 4096;

/// The first word of a line that reports an unlisted deviation.
const UNLISTED: &str = "UNLISTED ";

/// The folder of all that fuzzing writes and nobody checks in.
pub(crate) fn folder() -> PathBuf {
    crate::run::root().join("target/fuzz")
}

/// Runs `binary` over `inputs` until `end`. A finding ends the run and is stored in `artifacts`.
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

/// Writes a file that names `files`, separated by commas.
fn list(artifacts: &Path, files: &[PathBuf]) -> Result<PathBuf> {
    let path = artifacts.with_extension("inputs");
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    fs::write(&path, names.join(",")).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Copies into `to` the smallest set of inputs in `from` that covers as much as all of them.
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

/// Processor time of all children that have ended.
fn cpu_seconds() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The number of inputs tried: from the statistics at the end, or from the last line with a count if a finding ended the run.
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
