//! The description of the machine in a record.

use std::fs;

/// Date, processor, kernel and number of processors, in one line.
pub(crate) fn describe() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| "unknown processor".into());
    let family = field("cpu family").unwrap_or_default();
    let number = field("model").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let hypervisor = if cpuinfo.contains(" hypervisor ") { ", virtual machine" } else { "" };
    let kernel = kernel.trim().split('-').next().unwrap_or_default();
    format!(
        "{} · {model} (family {family} model {number}), {processors} processors, Linux {kernel}{hypervisor}",
        date()
    )
}

/// Today in UTC, as 2026-01-31.
fn date() -> String {
    let seconds = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    // Civil date from days, in the era arithmetic of the proleptic Gregorian calendar (years begin in March).
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}
