//! All tests of some rooms in one boot of the machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::build::target_folder;
use super::job::{HERE, Job};
use super::machine::{Boot, Machine};
use super::script::{quote, quoted};
use super::{loaded, module};
use crate::lanes::SKIPPED;
use crate::suite::{NTRACE, Program, Suite};

/// The most seconds that one test program may take, in an ordinary run and in one that is long or by hand.
const MOST_SECONDS: u32 = 1800;
const MOST_OF_LONG: u32 = 4 * 3600;

/// The variables that ask for long runs, on the host and in the machine.
const LONG_RUNS: [&str; 2] = ["NTRACE_WHOLE_PROGRAMS", "NTRACE_SOAK"];

/// Test programs that cargo has built, and how the machine runs them.
pub(crate) struct Batch {
    machine: Machine,
    suite: Suite,
    /// ntrace.ko, if the machine loads it.
    module: Option<PathBuf>,
    boot: Boot,
    by_hand: bool,
}

impl Batch {
    /// The programs of `suite` in a machine of their architecture.
    pub(crate) fn of(machine: Machine, suite: Suite) -> Batch {
        Batch { machine, suite, module: None, boot: Boot::default(), by_hand: false }
    }

    /// Loads the module before the programs run.
    pub(crate) fn with_module(self) -> Result<Batch> {
        Ok(Batch { module: Some(module::build(self.machine)?), ..self })
    }

    /// Boots the machine as `boot` says.
    pub(crate) fn boot_as(self, boot: Boot) -> Batch {
        Batch { boot, ..self }
    }

    /// Lets programs take longer, because a user who watches can end them.
    pub(crate) fn by_hand(self) -> Batch {
        Batch { by_hand: true, ..self }
    }

    /// Runs the programs, one after another. Tests that could not run are noted in the ledger.
    pub(crate) fn run(&self, ledger: Option<&Path>) -> Result<()> {
        let mut job = Job::new(self.machine)?;
        let temporary = target_folder(self.machine.arch).join("tmp");
        fs::create_dir_all(&temporary).with_context(|| format!("cannot make {}", temporary.display()))?;
        job.scratch(temporary);
        job.boot_as(self.boot);
        if self.may_be_long() {
            job.extend(MOST_OF_LONG);
        }
        let skipped = job.folder().join("skipped");
        fs::write(&skipped, "")?;
        job.run(&self.script())?;
        if let Some(ledger) = ledger {
            let both = fs::read_to_string(ledger)? + &fs::read_to_string(&skipped)?;
            fs::write(ledger, both).with_context(|| format!("cannot write {}", ledger.display()))?;
        }
        let status = |number: usize| fs::read_to_string(job.folder().join(format!("status.{number}")));
        let failed: Vec<String> = (0..self.suite.programs.len())
            .filter_map(|number| match status(number) {
                Ok(text) if text.trim() == "0" => None,
                Ok(text) => Some(format!("{}: {}", self.suite.programs[number].name, text.trim())),
                Err(_) => Some(format!("{}: did not end", self.suite.programs[number].name)),
            })
            .collect();
        let verdict = self.module.as_ref().map_or(Ok(()), |_| loaded::verdict(self.machine, job.folder()));
        if !failed.is_empty() {
            let failed = format!(
                "{} of {} test programs failed: {}",
                failed.len(),
                self.suite.programs.len(),
                failed.join(", ")
            );
            return match verdict {
                Ok(()) => Err(anyhow!(failed)),
                Err(error) => Err(error.context(failed)),
            };
        }
        verdict
    }

    fn script(&self) -> String {
        let mut script = format!("export {SKIPPED}={HERE}/skipped RUST_BACKTRACE=1\n");
        for name in LONG_RUNS {
            if let Some(value) = std::env::var_os(name) {
                script += &format!("export {name}={}\n", quote(Path::new(&value)));
            }
        }
        // Without the variable, tests of other packages would build the command.
        if let Some(ntrace) = &self.suite.ntrace {
            script += &format!("export {NTRACE}={}\n", quote(ntrace));
        }
        let most = if self.may_be_long() { MOST_OF_LONG } else { MOST_SECONDS };
        for (number, Program { name, path, package }) in self.suite.programs.iter().enumerate() {
            let (name, path, package) = (quoted(name), quote(path), quote(package));
            script += &format!("echo; echo '     Running '{name}\ncd {package}\n");
            script += &format!("CARGO_MANIFEST_DIR={package} timeout -s KILL {most} {path}\n");
            script += &format!("echo $? >{HERE}/status.{number}\n");
        }
        match &self.module {
            Some(module) => loaded::around(self.machine, module, &script),
            None => script,
        }
    }

    /// Whether one of the programs may take hours.
    fn may_be_long(&self) -> bool {
        self.by_hand || LONG_RUNS.iter().any(|name| std::env::var_os(name).is_some())
    }
}
