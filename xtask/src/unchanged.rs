//! Test programs that need not run again: nothing that their answer depends on has changed since they passed.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::program::{Program, matches};
use crate::{lanes, run};

/// Programs that give one answer for one input. They compare decoders, walk over the code of installed programs, or run one thread whose
/// signals the test itself sends. All others depend on when threads and processes run. On the host, where other programs run, they run every time.
const DETERMINISTIC: &[&str] = &[
    "cli/tests/hostile_names.rs",
    "cli/tests/list.rs",
    "cli/tests/survey.rs",
    "fuzz/claims/*",
    "insn/*",
    "stepping/*",
    "survey/*",
    "symbols/src/lib.rs",
    "tests/tests/displaced.rs",
    "tests/tests/lockstep_*",
    "tests/tests/semantics.rs",
    "tests/tests/trampoline_*",
    "trampoline/*",
    "wire/*",
];

/// The program among them that builds another one from this checkout.
const BUILDS: &str = "insn/tests/generated.rs";

/// The folder of the tables, in the checkout. Each place has a table of its own, because lanes run side by side.
const TABLES: &str = "target/lanes/passed";

/// How programs passed, by their names: a number that stands for all that the answer depended on, and the lines of the tests that could not
/// run.
type Table = BTreeMap<String, (u64, String)>;

/// Which programs of a place need not run again.
enum Which {
    /// Those of [`DETERMINISTIC`]. Those of the command depend on the command.
    Deterministic { ntrace: Option<PathBuf> },
    /// All: nothing else runs there.
    All,
}

/// The programs that passed in a lane, with the inputs that they passed with.
pub(crate) struct Passed {
    which: Which,
    /// The file of the table.
    table: PathBuf,
    /// What all programs of the place depend on.
    common: u64,
}

impl Passed {
    /// The programs of a lane that passed on this machine.
    pub(crate) fn on_host(place: &str, ntrace: Option<&Path>) -> Result<Passed> {
        let which = Which::Deterministic { ntrace: ntrace.map(Path::to_owned) };
        Ok(Passed { which, table: table(place), common: common(&[], "")? })
    }

    /// The programs that passed in a place where nothing else runs: an emulated machine, or a run with fixed inputs. `inputs` are the files, and
    /// `settings` all else, that these depend on besides the checkout's files, the installed packages, the processor and the kernel.
    pub(crate) fn in_place(place: &str, inputs: &[PathBuf], settings: &str) -> Result<Passed> {
        Ok(Passed { which: Which::All, table: table(place), common: common(inputs, settings)? })
    }

    /// Forgets programs that are about to run, so that a run which is cut short leaves none as passed.
    pub(crate) fn forget(&self, programs: &[Program]) -> Result<()> {
        let mut table = self.read();
        table.retain(|name, _| !programs.iter().any(|program| program.name == *name));
        self.write(&table)
    }

    /// The lines of the tests that could not run, of a program that need not run because it passed with the inputs of now.
    pub(crate) fn skipped_by(&self, program: &Program) -> Option<String> {
        let key = self.key(program).filter(|_| !lanes::runs_all())?;
        self.read().remove(&program.name).filter(|pass| pass.0 == key).map(|pass| pass.1)
    }

    /// Notes whether a program passed, and the lines of its tests that could not run.
    pub(crate) fn note(&self, program: &Program, passed: bool, skipped: &str) -> Result<()> {
        let mut table = self.read();
        match self.key(program).filter(|_| passed) {
            Some(key) => table.insert(program.name.clone(), (key, skipped.to_owned())),
            None => table.remove(&program.name),
        };
        self.write(&table)
    }

    fn write(&self, table: &Table) -> Result<()> {
        let folder = self.table.parent().context("the table lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let text = serde_json::to_string_pretty(table).context("a table of texts")?;
        fs::write(&self.table, text).with_context(|| format!("cannot write {}", self.table.display()))
    }

    /// The table; nothing if the file cannot be read.
    fn read(&self) -> Table {
        let text = fs::read_to_string(&self.table).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// What a program's answer depends on; `None` for one whose answer depends on more.
    fn key(&self, program: &Program) -> Option<u64> {
        if program.name == BUILDS {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        self.common.hash(&mut hasher);
        fs::read(&program.path).ok()?.hash(&mut hasher);
        if let Which::Deterministic { ntrace } = &self.which {
            if !DETERMINISTIC.iter().any(|pattern| matches(&program.name, pattern)) {
                return None;
            }
            if program.name.starts_with("cli/") {
                fs::read(ntrace.as_ref()?).ok()?.hash(&mut hasher);
            }
        }
        Some(hasher.finish())
    }
}

/// The file of a place's table.
fn table(place: &str) -> PathBuf {
    run::root().join(TABLES).join(format!("{}.json", place.replace(['/', ' '], "-")))
}

/// What all programs depend on: these inputs and settings, the checkout's files that are no Rust, the installed packages, the processor, the kernel, and
/// the variables that change tests.
fn common(inputs: &[PathBuf], settings: &str) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    settings.hash(&mut hasher);
    let root = run::root();
    let listed = run::output(Command::new("git").args(["ls-files", "-z"]).current_dir(&root))?;
    // A test program contains what is compiled of Rust, except the programs that it traces.
    let is_data = |name: &&str| !name.is_empty() && (!name.ends_with(".rs") || name.contains("/programs/"));
    let data = listed.split('\0').filter(is_data).map(|name| root.join(name));
    let system = ["/proc/sys/kernel/osrelease", "/var/lib/dpkg/status"].map(PathBuf::from);
    for path in { data }.chain(system).chain(inputs.iter().cloned()) {
        path.hash(&mut hasher);
        // A file that was deleted is an input as well.
        fs::read(&path).unwrap_or_default().hash(&mut hasher);
    }
    let processor = fs::read_to_string("/proc/cpuinfo").context("cannot read /proc/cpuinfo")?;
    let lines =
        processor.lines().filter(|line| ["model name", "flags", "Features"].iter().any(|key| line.starts_with(key)));
    lines.for_each(|line| line.hash(&mut hasher));
    let variables = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"NTRACE_"));
    variables.filter(|(name, _)| name != lanes::AGAIN).for_each(|variable| variable.hash(&mut hasher));
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a program and an input of it, which goes with this.
    struct Place {
        folder: PathBuf,
        program: PathBuf,
        input: PathBuf,
    }

    impl Place {
        fn new(name: &str) -> Place {
            let folder = std::env::temp_dir().join(format!("unchanged-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            let place = Place { program: folder.join("program"), input: folder.join("input"), folder };
            place.write(&place.program, "one");
            place.write(&place.input, "one");
            place
        }

        fn write(&self, path: &Path, text: &str) {
            fs::write(path, text).unwrap();
        }

        fn passed(&self, which: Which, settings: &str) -> Passed {
            let common = common(std::slice::from_ref(&self.input), settings).unwrap();
            Passed { which, table: self.folder.join("passed/table.json"), common }
        }

        fn program(&self, name: &str) -> Program {
            Program { name: name.into(), path: self.program.clone(), package: PathBuf::new() }
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn a_program_that_passed_runs_again_when_its_bytes_or_its_inputs_change_or_it_fails() {
        let place = Place::new("host");
        let passed = || place.passed(Which::Deterministic { ntrace: None }, "");
        let (pure, other) = (place.program("insn/tests/x.rs"), place.program("ubp/tests/x.rs"));
        for program in [&pure, &other] {
            assert_eq!(passed().skipped_by(program), None);
            passed().note(program, true, "SKIPPED a: b").unwrap();
        }
        assert_eq!(passed().skipped_by(&pure).as_deref(), Some("SKIPPED a: b"));
        // Its answer depends on more than its inputs.
        assert_eq!(passed().skipped_by(&other), None);
        for file in [&place.input, &place.program] {
            place.write(file, "two");
            assert_eq!(passed().skipped_by(&pure), None);
            place.write(file, "one");
            assert!(passed().skipped_by(&pure).is_some());
        }
        passed().note(&pure, false, "").unwrap();
        assert_eq!(passed().skipped_by(&pure), None);
    }

    #[test]
    fn in_a_machine_every_program_that_passed_stays_until_something_of_the_machine_changes() {
        let place = Place::new("machine");
        let passed = |settings| place.passed(Which::All, settings);
        let program = place.program("ubp/tests/x.rs");
        passed("QEMU 7").note(&program, true, "").unwrap();
        assert!(passed("QEMU 7").skipped_by(&program).is_some());
        assert_eq!(passed("QEMU 8").skipped_by(&program), None);
        // Such as the module.
        for file in [&place.input, &place.program] {
            place.write(file, "two");
            assert_eq!(passed("QEMU 7").skipped_by(&program), None);
            place.write(file, "one");
        }
        assert_eq!(passed("QEMU 7").skipped_by(&place.program("ubp/tests/y.rs")), None);
        passed("QEMU 7").note(&place.program(BUILDS), true, "").unwrap();
        assert_eq!(passed("QEMU 7").skipped_by(&place.program(BUILDS)), None);
    }

    #[test]
    fn a_program_of_a_run_that_was_cut_short_has_not_passed() {
        let place = Place::new("cut");
        let passed = place.passed(Which::All, "");
        let [one, other] = ["ubp/tests/x.rs", "ubp/tests/y.rs"].map(|name| place.program(name));
        for program in [&one, &other] {
            passed.note(program, true, "").unwrap();
        }
        passed.forget(&[place.program("ubp/tests/x.rs")]).unwrap();
        assert_eq!(passed.skipped_by(&one), None);
        assert!(passed.skipped_by(&other).is_some());
    }

    #[test]
    fn a_test_of_the_command_depends_on_the_command() {
        let path = std::env::current_exe().unwrap();
        let program = Program { name: "cli/tests/list.rs".into(), path: path.clone(), package: PathBuf::new() };
        let passed = |ntrace| Passed { which: Which::Deterministic { ntrace }, table: PathBuf::new(), common: 0 };
        assert_eq!(passed(None).key(&program), None);
        assert!(passed(Some(path)).key(&program).is_some());
    }
}
