//! All tests of some rooms in one boot of the machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use super::job::{HERE, Job};
use super::machine::{Boot, Machine};
use super::{cargo, loaded, module, ntrace, quote, target_folder};
use crate::lanes::SKIPPED;
use crate::run;

/// The most seconds that one test program may take, and one of a long run or of a run by hand.
const MOST_SECONDS: u32 = 900;
const MOST_OF_LONG: u32 = 4 * 3600;

/// The variables that ask for long runs, there as here.
const LONG_RUNS: [&str; 2] = ["NTRACE_WHOLE_PROGRAMS", "NTRACE_SOAK"];

/// Test programs, built.
pub(crate) struct Batch {
    machine: Machine,
    programs: Vec<Program>,
    /// The command, for tests of the package that would build it themselves.
    ntrace: Option<PathBuf>,
    /// ntrace.ko, where it is loaded.
    module: Option<PathBuf>,
    boot: Boot,
    by_hand: bool,
}

/// A test program, and the folder of its package, where it is run.
#[derive(PartialEq, Debug)]
struct Program {
    path: PathBuf,
    package: PathBuf,
}

impl Program {
    /// Whether it runs the command, and would build it.
    fn needs_ntrace(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        ["whole_", "selftests-"].iter().any(|start| name.starts_with(start))
    }
}

impl Batch {
    /// Builds the tests that `selection`, arguments of `cargo test`, names.
    pub(crate) fn build(machine: Machine, selection: &[&str]) -> Result<Batch> {
        let arguments = ["test", "--no-run", "--message-format", "json-render-diagnostics"];
        let messages =
            run::output(cargo(machine.arch, &arguments)?.args(selection).stderr(std::process::Stdio::inherit()))?;
        let programs: Vec<Program> = messages.lines().filter_map(program).collect();
        let needs_ntrace = programs.iter().any(Program::needs_ntrace);
        // The command's own tests have it built already.
        let ntrace = match messages.lines().find_map(command) {
            Some(built) => Some(built),
            None if needs_ntrace => Some(ntrace(machine.arch)?.join("ntrace")),
            None => None,
        };
        Ok(Batch { machine, programs, ntrace, module: None, boot: Boot::default(), by_hand: false })
    }

    /// The same with the module loaded.
    pub(crate) fn with_module(self) -> Result<Batch> {
        Ok(Batch { module: Some(module::build(self.machine)?), ..self })
    }

    /// The same in a machine that boots so.
    pub(crate) fn boot_as(self, boot: Boot) -> Batch {
        Batch { boot, ..self }
    }

    /// The same, watched by somebody who ends it where it takes too long.
    pub(crate) fn by_hand(self) -> Batch {
        Batch { by_hand: true, ..self }
    }

    /// Runs them, one after another. What they could not run is noted in the ledger.
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
        let failed: Vec<String> = (0..self.programs.len())
            .filter_map(|number| match status(number) {
                Ok(text) if text.trim() == "0" => None,
                Ok(text) => Some(format!("{}: {}", self.programs[number].path.display(), text.trim())),
                Err(_) => Some(format!("{}: did not end", self.programs[number].path.display())),
            })
            .collect();
        let verdict = self.module.as_ref().map_or(Ok(()), |_| loaded::verdict(self.machine, job.folder()));
        if !failed.is_empty() {
            let failed =
                format!("{} of {} test programs failed: {}", failed.len(), self.programs.len(), failed.join(", "));
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
        if let Some(ntrace) = &self.ntrace {
            script += &format!("export NTRACE_COMMAND={}\n", quote(ntrace));
        }
        let most = if self.may_be_long() { MOST_OF_LONG } else { MOST_SECONDS };
        for (number, Program { path, package }) in self.programs.iter().enumerate() {
            let (path, package) = (quote(path), quote(package));
            script += &format!("echo; echo \"     Running \"{path}\ncd {package}\n");
            script += &format!("CARGO_MANIFEST_DIR={package} timeout -s KILL {most} {path}\n");
            script += &format!("echo $? >{HERE}/status.{number}\n");
        }
        match &self.module {
            Some(module) => loaded::around(self.machine, module, &script),
            None => script,
        }
    }

    /// Whether one of them may take hours.
    fn may_be_long(&self) -> bool {
        self.by_hand || LONG_RUNS.iter().any(|name| std::env::var_os(name).is_some())
    }
}

/// The test program that a line of cargo's messages tells of.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let path = PathBuf::from(message["executable"].as_str()?);
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    is_test.then_some(Program { path, package })
}

/// The command that a line of cargo's messages tells of.
fn command(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_command = message["target"]["name"] == "ntrace" && message["profile"]["test"] == false;
    is_command.then(|| message["executable"].as_str().map(PathBuf::from))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_programs_are_taken_from_messages() {
        let message = |test: bool| {
            format!(r#"{{"manifest_path": "/a/Cargo.toml", "profile": {{"test": {test}}}, "executable": "/t/x"}}"#)
        };
        assert_eq!(program(&message(true)), Some(Program { path: "/t/x".into(), package: "/a".into() }));
        assert_eq!(program(&message(false)), None);
        assert_eq!(program(r#"{"reason": "build-finished"}"#), None);
    }

    #[test]
    fn the_command_is_taken_from_messages_where_its_own_tests_are_built() {
        let message = |name: &str, test: bool| {
            format!(r#"{{"target": {{"name": "{name}"}}, "profile": {{"test": {test}}}, "executable": "/t/{name}"}}"#)
        };
        assert_eq!(command(&message("ntrace", false)), Some("/t/ntrace".into()));
        assert_eq!(command(&message("ntrace", true)), None);
        assert_eq!(command(&message("ubp", false)), None);
    }
}
