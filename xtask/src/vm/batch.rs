//! All tests of some rooms in one boot of the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::build::target_folder;
use super::job::{HERE, Job};
use super::kernel::Kernel;
use super::machine::{Boot, Kind, Machine};
use super::script::{quote, quoted};
use super::{loaded, module, root};
use crate::deadline;
use crate::lanes::{self, SKIPPED};
use crate::program::Program;
use crate::run;
use crate::seconds::{MOST_LIMIT, Seconds};
use crate::suite::{NTRACE, Suite};
use crate::unchanged::Passed;

/// The most seconds that one test program may take in a run that is long or by hand.
const MOST_OF_LONG: u32 = 4 * 3600;

/// The variable that tells tests that the kernel is theirs alone: they may set kprobes in it.
const MACHINE: &str = "NTRACE_MACHINE";
/// The sources of all that boots a machine and runs a script there.
const SOURCES: &str = "xtask/src/vm";

/// The test of the tutorial docs/extending.md, and the variable that names the module that the tutorial makes.
pub(crate) const TUTORIAL_TEST: &str = "tests/tests/channel_tutorial.rs";
const TUTORIAL: &str = "NTRACE_TUTORIAL";

/// The files of a test program in the job's folder, which end with its number: the lines of tests that could not run, and its exit status.
const SKIPPED_FILE: &str = "skipped";
const STATUS_FILE: &str = "status";
/// The status of a program for which no time was left.
const LATE: &str = "late";
/// The file with the seconds since boot at which a program began and ended.
const TIMES_FILE: &str = "times";
/// The shortest time, in seconds, of a program that the list of long ones names.
const LONG: f64 = 20.0;

/// Test programs that cargo has built, and how the machine runs them.
pub(crate) struct Batch {
    machine: Machine,
    suite: Suite,
    /// ntrace.ko, if the machine loads it.
    module: Option<PathBuf>,
    /// The tutorial's ntrace.ko, if its test is among the programs.
    tutorial: Option<PathBuf>,
    boot: Boot,
    by_hand: bool,
}

impl Batch {
    /// The programs of `suite` in a machine of their architecture.
    pub(crate) fn of(machine: Machine, suite: Suite) -> Batch {
        Batch { machine, suite, module: None, tutorial: None, boot: Boot::default(), by_hand: false }
    }

    /// Loads the module before the programs run.
    pub(crate) fn with_module(self) -> Result<Batch> {
        let module = Some(module::build(self.machine)?);
        let is_tutorial = self.suite.programs.iter().any(|program| program.name == TUTORIAL_TEST);
        let tutorial = is_tutorial.then(|| module::build_tutorial(self.machine)).transpose()?;
        Ok(Batch { module, tutorial, ..self })
    }

    /// Boots the machine as `boot` says.
    pub(crate) fn boot_as(self, boot: Boot) -> Batch {
        Batch { boot, ..self }
    }

    /// Lets programs take longer, because a user who watches can end them.
    pub(crate) fn by_hand(self) -> Batch {
        Batch { by_hand: true, ..self }
    }

    /// Runs the programs of a lane, one after another, without those that passed before and have not changed. Tests that could not run are
    /// noted in the ledger.
    pub(crate) fn run(self, ledger: &Path) -> Result<()> {
        let kernel = Kernel::of(self.machine)?;
        let passed = self.passed(&kernel)?;
        let (Machine { arch, kernel: kind }, with) = (self.machine, self.with());
        let place = format!("{} kernel on {}{with}", kind.name(), arch.name());
        let suite = self.suite.changed(&passed, &place, ledger)?;
        if suite.programs.is_empty() {
            return Ok(());
        }
        Batch { suite, ..self }.run_all(&kernel, &passed, Some(ledger))
    }

    /// Runs the programs, one after another.
    pub(crate) fn run_by_hand(self) -> Result<()> {
        let kernel = Kernel::of(self.machine)?;
        let passed = self.passed(&kernel)?;
        self.run_all(&kernel, &passed, None)
    }

    /// The words that follow the kernel's name in the summary's name for this machine.
    fn with(&self) -> &'static str {
        if self.module.is_some() { " with the module" } else { "" }
    }

    /// The programs that passed in this machine.
    fn passed(&self, kernel: &Kernel) -> Result<Passed> {
        kernel.build()?;
        let root = root::folder(self.machine.arch)?;
        let mut inputs = vec![kernel.image(), kernel.packer(), root::busybox(&root)];
        inputs.extend(kernel.modules());
        inputs.extend(
            self.module.iter().chain(&self.tutorial).chain(&self.suite.ntrace).chain(&self.suite.others).cloned(),
        );
        inputs.extend(run::files(&run::root().join(SOURCES))?);
        let settings = format!(
            "{} {:?} {:?} {}",
            kernel.name(),
            self.boot,
            root::made(self.machine.arch),
            self.machine.emulator()?
        );
        Passed::in_place(&(kernel.name() + self.with()), &inputs, &settings)
    }

    fn run_all(&self, kernel: &Kernel, passed: &Passed, ledger: Option<&Path>) -> Result<()> {
        let mut seconds = Seconds::of_place(&(kernel.name() + self.with()));
        passed.forget(&self.suite.programs)?;
        let mut job = Job::new(self.machine)?;
        let temporary = target_folder(self.machine.arch).join("tmp");
        fs::create_dir_all(&temporary).with_context(|| format!("cannot make {}", temporary.display()))?;
        job.scratch(temporary);
        job.boot_as(self.boot);
        if self.may_be_long() {
            job.extend(MOST_OF_LONG);
        }
        job.run(&self.script(&seconds))?;
        let verdict = self.module.as_ref().map_or(Ok(()), |_| loaded::verdict(self.machine, job.folder()));
        let (mut failed, mut long) = (Vec::new(), Vec::new());
        for (number, program) in self.suite.programs.iter().enumerate() {
            let told = |file: &str| fs::read_to_string(job.folder().join(format!("{file}.{number}")));
            let skipped = told(SKIPPED_FILE).unwrap_or_default();
            if let Some(ledger) = ledger {
                skipped.lines().try_for_each(|line| lanes::note(ledger, line))?;
            }
            let time = told(TIMES_FILE).ok().and_then(|times| between(&times)).unwrap_or_default();
            if time >= LONG {
                long.push((time, &*program.name));
            }
            let status = told(STATUS_FILE).map_or_else(|_| "did not end".to_owned(), |text| text.trim().to_owned());
            if status == LATE {
                continue;
            }
            // The kernel's log does not tell which program a fault is of.
            passed.note(program, status == "0" && verdict.is_ok(), &skipped)?;
            if status == "0" {
                seconds.note(&program.name, Duration::try_from_secs_f64(time).unwrap_or_default());
            } else {
                failed.push(format!("{}: {status}", program.name));
            }
        }
        seconds.write()?;
        long.sort_by(|a, b| b.0.total_cmp(&a.0));
        long.iter().for_each(|(time, name)| eprintln!("{time:8.1} s  {name}"));
        if failed.is_empty() {
            return verdict;
        }
        let count = self.suite.programs.len();
        let failed = format!("{} of {count} test programs failed: {}", failed.len(), failed.join(", "));
        match verdict {
            Ok(()) => Err(anyhow!(failed)),
            Err(error) => Err(error.context(failed)),
        }
    }

    fn script(&self, seconds: &Seconds) -> String {
        let mut script = format!("export RUST_BACKTRACE=1 {MACHINE}=1\n");
        for (name, value) in lanes::long_forms() {
            script += &format!("export {name}={}\n", quote(Path::new(&value)));
        }
        // Without the variable, tests of other packages would build the command.
        if let Some(ntrace) = &self.suite.ntrace {
            script += &format!("export {NTRACE}={}\n", quote(ntrace));
        }
        if let Some(tutorial) = &self.tutorial {
            script += &format!("export {TUTORIAL}={}\n", quote(tutorial));
        }
        let left = deadline::seconds_left();
        for (number, Program { name, path, package }) in self.suite.programs.iter().enumerate() {
            let most = deadline::limit(self.limit(seconds, name));
            let (name, path, package) = (quoted(name), quote(path), quote(package));
            script += &format!("export {SKIPPED}={HERE}/{SKIPPED_FILE}.{number}; : >${SKIPPED}\n");
            script += "read begun rest </proc/uptime\n";
            if let Some(left) = left {
                let over = deadline::OVER;
                script += &format!("if [ ${{begun%.*}} -ge {left} ]; then\n");
                script += &format!(
                    "echo SKIPPED {name}: {over:?} >${SKIPPED}; echo {LATE} >{HERE}/{STATUS_FILE}.{number}\nelse\n"
                );
            }
            script += &format!("echo; echo '     Running '{name}\ncd {package}\n");
            script += &format!("CARGO_MANIFEST_DIR={package} timeout -s KILL {most} {path}\n");
            script += &format!("echo $? >{HERE}/{STATUS_FILE}.{number}\n");
            script += &format!("read ended rest </proc/uptime; echo $begun $ended >{HERE}/{TIMES_FILE}.{number}\n");
            if left.is_some() {
                script += "fi\n";
            }
        }
        match &self.module {
            Some(module) => loaded::around(self.machine, module, &script),
            None => script,
        }
    }

    /// The seconds that a program may take. The times that are known beforehand are of ordinary kernels.
    fn limit(&self, seconds: &Seconds, name: &str) -> u32 {
        match self.machine.kernel {
            _ if self.may_be_long() => MOST_OF_LONG,
            Kind::Debug => MOST_LIMIT,
            Kind::Debian | Kind::Oldest => seconds.limit(name),
        }
    }

    /// Whether one of the programs may take hours.
    fn may_be_long(&self) -> bool {
        self.by_hand || !lanes::long_forms().is_empty()
    }
}

/// The seconds between two times, which a space separates.
fn between(times: &str) -> Option<f64> {
    let (begun, ended) = times.trim().split_once(' ')?;
    Some(ended.parse::<f64>().ok()? - begun.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_program_is_that_between_its_begin_and_its_end() {
        assert_eq!(between("12.50 14.00\n"), Some(1.5));
        assert_eq!(between("12.50 \n"), None);
        assert_eq!(between(""), None);
    }
}
