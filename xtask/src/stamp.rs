//! Which code was measured, and when.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run;

/// Files that a measurement itself writes.
const LEDGERS: [&str; 2] = [":!docs", ":!fuzz/hours.txt"];

/// `DAY COMMIT` of this moment, in UTC. The commit ends with `-dirty` if files differ from it. Callers take the stamp before a run.
pub(crate) fn stamp() -> Result<String> {
    let day = run::output(Command::new("date").args(["-u", "+%F"]))?;
    let git = |arguments: &[&str]| run::output(Command::new("git").args(arguments).current_dir(run::root()));
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = git(&[&["status", "--porcelain", "--untracked-files=no", "--", "."], &LEDGERS[..]].concat())?;
    let dirty = if changed.is_empty() { "" } else { "-dirty" };
    Ok(format!("{} {}{dirty}", day.trim(), commit.trim()))
}

/// This processor's vendor, family and model, read from Linux.
pub(crate) fn processor() -> Result<String> {
    let told = fs::read_to_string("/proc/cpuinfo").context("cannot read /proc/cpuinfo")?;
    name(&told).context("/proc/cpuinfo tells of no vendor, family and model")
}

fn name(cpuinfo: &str) -> Option<String> {
    let value = |key: &str| {
        let mut pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    Some(format!("{} family {} model {}", value("vendor_id")?, value("cpu family")?, value("model")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_named_by_vendor_family_and_model() {
        let told = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: A\n";
        assert_eq!(name(told).unwrap(), "GenuineIntel family 6 model 207");
        assert_eq!(name("processor\t: 0\n"), None);
    }
}
