//! What keeps the numbers of many hosts, for the tests of `--serve` and `--otlp`: Prometheus, and VictoriaMetrics, which takes OTLP. Debian's
//! Prometheus is built without that. The programs come from Debian 13, need the C library of Debian 12 or newer alone, and are not installed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cache::Entry;
use crate::debian::Suite;
use crate::run;

/// Debian 13's name.
const SUITE: &str = "trixie";
/// The packages, whose programs have their names, and the variables that name the programs to the tests.
const ALL: [(&str, &str); 2] = [("prometheus", "NTRACE_PROMETHEUS"), ("victoria-metrics", "NTRACE_VICTORIA_METRICS")];

/// Unpacks the programs unless the cache has them.
pub(crate) fn bring() -> Result<()> {
    entry().make(|folder| {
        let suite = Suite::open(SUITE, &["amd64"], &folder.with_extension("apt"))?;
        for (name, _) in ALL {
            suite.unpack(&[name.to_owned()], &[&format!("./usr/bin/{name}")], folder)?;
            run::run(Command::new(program(name)).arg("--version"))?;
        }
        Ok(())
    })
}

/// The variables and the programs' paths, if the cache has them.
pub(crate) fn variables() -> Vec<(&'static str, PathBuf)> {
    let all = ALL.iter().filter(|_| entry().is_complete());
    all.map(|(name, variable)| (*variable, program(name))).collect()
}

fn entry() -> Entry {
    Entry::of("collectors")
}

fn program(name: &str) -> PathBuf {
    entry().folder().join("usr/bin").join(name)
}
