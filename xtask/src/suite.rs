//! Test programs that cargo has built, run side by side.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::deadline;
use crate::lanes::{self, SKIPPED};
use crate::program::{Program, matches};
use crate::run;
use crate::seconds::{MOST_LIMIT, Seconds};
use crate::unchanged::Passed;

/// Marks, in a test program's documentation, a program that must run alone. The reason follows on the same line.
const ALONE: &str = "//! Runs alone:";
/// The variable that names the `ntrace` command to tests that would build it.
pub(crate) const NTRACE: &str = "NTRACE_COMMAND";
/// The shortest time of a test program that the list of long ones names.
const LONG: Duration = Duration::from_secs(5);

/// Test programs that cargo has built.
#[derive(Clone)]
pub(crate) struct Suite {
    pub(crate) programs: Vec<Program>,
    /// The `ntrace` command, if its package's tests are among the programs: cargo builds it for them.
    pub(crate) ntrace: Option<PathBuf>,
    /// The other programs that cargo has built with them, which tests may start.
    pub(crate) others: Vec<PathBuf>,
}

/// How to run test programs.
#[derive(Default)]
pub(crate) struct Setting<'a> {
    /// A program with its first arguments that runs test programs of another architecture.
    pub(crate) runner: &'a [&'a str],
    /// Arguments of each test program.
    pub(crate) arguments: &'a [&'a str],
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
}

/// How a run of a program ended.
struct End<'a> {
    program: &'a Program,
    /// Whether it has run: not where no time was left.
    has_run: bool,
    time: Duration,
    /// Why it counts as failed.
    failure: Option<String>,
    /// The lines of tests that could not run.
    skipped: String,
}

impl<'a> End<'a> {
    /// A program for which no time was left.
    fn late(program: &'a Program) -> End<'a> {
        let skipped = format!("SKIPPED {}: {}", program.name, deadline::OVER);
        End { program, has_run: false, time: Duration::ZERO, failure: None, skipped }
    }
}

impl Suite {
    /// Builds the tests that the arguments of `cargo test` in `command` select.
    pub(crate) fn build(command: &mut Command) -> Result<Suite> {
        command.args(["--no-run", "--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
        let messages = run::output(command)?;
        let messages = || messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let programs = messages().filter_map(|message| program(&run::root(), &message)).collect();
        let others = messages().filter_map(|message| other(&message)).collect();
        Ok(Suite { programs, ntrace: messages().find_map(|message| command_of(&message)), others })
    }

    /// Keeps the programs whose names match one of the patterns. Each pattern must match a program.
    pub(crate) fn select(self, patterns: &[&str]) -> Result<Suite> {
        let matched = |pattern: &&str| self.programs.iter().any(|program| matches(&program.name, pattern));
        if let Some(pattern) = patterns.iter().find(|pattern| !matched(pattern)) {
            bail!("no test program is called {pattern}");
        }
        let is_wanted = |program: &Program| patterns.iter().any(|pattern| matches(&program.name, pattern));
        Ok(Suite { programs: self.programs.into_iter().filter(is_wanted).collect(), ..self })
    }

    /// Takes out the programs that passed before and need not run again, and says so. Returns the suite without them.
    pub(crate) fn changed(self, passed: &Passed, place: &str, ledger: &Path) -> Result<Suite> {
        let before = self.programs.len();
        let mut changed = Vec::new();
        for program in self.programs {
            match passed.skipped_by(&program) {
                Some(skipped) => skipped.lines().try_for_each(|line| lanes::note(ledger, line))?,
                None => changed.push(program),
            }
        }
        let left = before - changed.len();
        if left > 0 {
            lanes::note(ledger, &format!("{place}: {left} test programs of {before} {}", lanes::UNCHANGED))?;
        }
        Ok(Suite { programs: changed, ..self })
    }

    /// Runs the programs, as many at once as there are processors, and at the end those that run alone. Fails if a program fails, after
    /// all of them have run. Programs that passed before and have not changed do not run.
    pub(crate) fn run(self, place: &str, ledger: &Path, setting: &Setting<'_>) -> Result<()> {
        let passed = Passed::on_host(place, self.ntrace.as_deref())?;
        self.changed(&passed, place, ledger)?.run_all(place, &passed, ledger, setting)
    }

    fn run_all(&self, place: &str, passed: &Passed, ledger: &Path, setting: &Setting<'_>) -> Result<()> {
        passed.forget(&self.programs)?;
        let folder = run::root().join("target/lanes").join(format!("suite.{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut seconds = Seconds::of_place(place);
        let mut programs: Vec<&Program> = self.programs.iter().collect();
        programs.sort_by_key(|program| std::cmp::Reverse(seconds.order(&program.name)));
        let limit = |program: &Program| {
            deadline::limit(if lanes::long_forms().is_empty() { seconds.limit(&program.name) } else { MOST_LIMIT })
        };
        let (alone, beside): (Vec<_>, Vec<_>) = programs.into_iter().partition(|program| program.runs_alone());
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut ends = run_by(workers, &beside, setting, &folder, &limit);
        ends.extend(run_by(1, &alone, setting, &folder, &limit));
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        for End { program, has_run, time, failure, skipped } in &ends {
            if *has_run {
                if failure.is_none() {
                    seconds.note(&program.name, *time);
                }
                passed.note(program, failure.is_none(), skipped)?;
            }
            skipped.lines().try_for_each(|line| lanes::note(ledger, line))?;
        }
        seconds.write()?;
        ends.sort_by_key(|end| std::cmp::Reverse(end.time));
        for End { program, time, .. } in ends.iter().filter(|end| end.time >= LONG) {
            eprintln!("{:8.1} s  {}", time.as_secs_f64(), program.name);
        }
        let failed: Vec<String> =
            ends.iter().filter_map(|end| Some(format!("{}: {}", end.program.name, end.failure.as_ref()?))).collect();
        if !failed.is_empty() {
            bail!("{} of {} test programs failed: {}", failed.len(), ends.len(), failed.join(", "));
        }
        Ok(())
    }
}

impl Program {
    /// Whether its documentation says that it must run alone.
    pub(crate) fn runs_alone(&self) -> bool {
        let text = fs::read_to_string(run::root().join(&self.name)).unwrap_or_default();
        text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.starts_with(ALONE))
    }

    /// Runs it until it ends or `timeout` kills it after `most` seconds, and shows its output.
    fn run(&self, setting: &Setting<'_>, log: &Path, most: u32) -> End<'_> {
        let start = Instant::now();
        let ledger = log.with_extension("skipped");
        let failure = match self.outcome(&ledger, setting, log, most) {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(format!("{error:#}")),
        };
        let skipped = fs::read_to_string(&ledger).unwrap_or_default();
        let end = End { program: self, has_run: true, time: start.elapsed(), failure, skipped };
        let output = fs::read(log).unwrap_or_default();
        // Written in one piece, because other threads show other programs' output.
        let shown = format!("     Running {}\n{}", self.name, String::from_utf8_lossy(&output));
        let _ = std::io::stderr().lock().write_all(shown.as_bytes());
        end
    }

    fn outcome(&self, ledger: &Path, setting: &Setting<'_>, log: &Path, most: u32) -> Result<ExitStatus> {
        let make = |path: &Path| File::create(path).with_context(|| format!("cannot make {}", path.display()));
        let (output, _) = (make(log)?, make(ledger)?);
        let mut command = Command::new("timeout");
        command.args(["--foreground", "--signal", "KILL", &most.to_string()]);
        command.args(setting.runner).arg(&self.path).args(setting.arguments);
        command.current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package).env(SKIPPED, ledger);
        command.envs(setting.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        command.status().with_context(|| format!("cannot start {}", self.path.display()))
    }
}

/// Runs programs by `workers` threads, each of which takes the next program when it is done with one.
/// `limit` gives the seconds that a program may take.
fn run_by<'a>(
    workers: usize,
    programs: &[&'a Program],
    setting: &Setting<'_>,
    folder: &Path,
    limit: &(impl Fn(&Program) -> u32 + Sync),
) -> Vec<End<'a>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut ends = Vec::new();
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = program.path.file_name().unwrap_or_default();
            ends.push(match deadline::is_over() {
                true => End::late(program),
                false => program.run(setting, &folder.join(name), limit(program)),
            });
        }
        ends
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// The test program that a message of cargo describes, in the checkout `root`.
fn program(root: &Path, message: &Value) -> Option<Program> {
    if !message["profile"]["test"].as_bool()? {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let name = Path::new(message["target"]["src_path"].as_str()?).strip_prefix(root).ok()?;
    Some(Program { name: name.to_str()?.to_owned(), path, package })
}

/// The path of the `ntrace` command in a message of cargo.
fn command_of(message: &Value) -> Option<PathBuf> {
    let is_command = message["target"]["name"] == "ntrace" && message["profile"]["test"] == false;
    message["executable"].as_str().filter(|_| is_command).map(PathBuf::from)
}

/// The path of a program in a message of cargo that is neither a test program nor of this package, which no test starts.
fn other(message: &Value) -> Option<PathBuf> {
    let is_ours = Path::new(message["manifest_path"].as_str()?).ends_with("xtask/Cargo.toml");
    let is_other = message["profile"]["test"] == false && !is_ours;
    message["executable"].as_str().filter(|_| is_other).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_program_is_called_as_its_source() {
        let message = |test: bool| {
            json!({ "manifest_path": "/here/a/Cargo.toml", "profile": { "test": test }, "executable": "/t/x",
                "target": { "src_path": "/here/a/tests/x.rs" } })
        };
        let expected = Program { name: "a/tests/x.rs".into(), path: "/t/x".into(), package: "/here/a".into() };
        assert_eq!(program("/here".as_ref(), &message(true)), Some(expected));
        assert_eq!(program("/here".as_ref(), &message(false)), None);
        assert_eq!(program("/here".as_ref(), &json!({ "reason": "build-finished" })), None);
    }

    #[test]
    fn a_pattern_that_matches_no_program_is_an_error() {
        let suite = || Suite {
            programs: ["a/tests/x.rs", "a/tests/y.rs", "b/src/lib.rs"]
                .map(|name| Program { name: name.into(), path: PathBuf::new(), package: PathBuf::new() })
                .into(),
            ntrace: None,
            others: Vec::new(),
        };
        let selected = suite().select(&["a/tests/*", "b/src/lib.rs"]).unwrap();
        assert_eq!(selected.programs.len(), 3);
        assert_eq!(suite().select(&["*/y.rs"]).unwrap().programs.len(), 1);
        assert!(suite().select(&["a/tests/*", "a/tests/z.rs"]).is_err());
    }

    #[test]
    fn the_command_is_taken_from_messages_where_its_own_tests_are_built() {
        let message = |name: &str, test: bool| json!({ "target": { "name": name }, "profile": { "test": test }, "executable": format!("/t/{name}") });
        assert_eq!(command_of(&message("ntrace", false)), Some("/t/ntrace".into()));
        assert_eq!(command_of(&message("ntrace", true)), None);
        assert_eq!(command_of(&message("ubp", false)), None);
    }
    #[test]
    fn programs_that_tests_may_start_are_taken_from_messages() {
        let message = |room: &str, test: bool| json!({ "manifest_path": format!("/here/{room}/Cargo.toml"), "profile": { "test": test }, "executable": "/t/x" });
        assert_eq!(other(&message("tests", false)), Some("/t/x".into()));
        assert_eq!(other(&message("tests", true)), None);
        assert_eq!(other(&message("xtask", false)), None);
    }
}
