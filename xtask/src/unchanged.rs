//! Test programs that need not run again: their answer depends on nothing that has changed since they passed.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::program::{Program, matches};
use crate::{lanes, run};

/// Programs that give one answer for one input. They compare decoders, walk over the code of installed programs, or run one thread whose
/// signals the test itself sends. All others depend on when threads and processes run, and run every time.
const DETERMINISTIC: &[&str] = &[
    "cli/tests/hostile_names.rs",
    "cli/tests/list.rs",
    "cli/tests/survey.rs",
    "fuzz/claims/*",
    "insn/*",
    "stepping/*",
    "symbols/src/lib.rs",
    "tests/tests/displaced.rs",
    "tests/tests/lockstep_*",
    "tests/tests/semantics.rs",
    "tests/tests/trampoline_*",
    "tests/tests/whole_counts.rs",
    "trampoline/*",
    "wire/*",
];

/// The program among them that builds another one from this checkout.
const BUILDS: &str = "insn/tests/generated.rs";

/// The folder of the tables, in the checkout. Each place has a table of its own, because lanes run side by side.
const TABLES: &str = "target/lanes/passed";

/// The programs that passed in a lane, with the inputs that they passed with.
pub(crate) struct Passed {
    /// The file of the table: for each program a number that stands for all that its answer depended on.
    table: PathBuf,
    /// What all programs of the place depend on.
    common: u64,
    ntrace: Option<PathBuf>,
}

impl Passed {
    /// The programs of `place`, a lane or a machine, that passed with `inputs`: what its programs depend on besides the checkout's files, the
    /// installed packages, the processor and the kernel.
    pub(crate) fn in_place(place: &str, inputs: &[&Path], ntrace: Option<&Path>) -> Result<Passed> {
        let table = run::root().join(TABLES).join(format!("{}.json", place.replace(['/', ' '], "-")));
        Ok(Passed { table, common: common(inputs)?, ntrace: ntrace.map(Path::to_owned) })
    }

    /// Whether a program need not run, because it passed with the inputs of now.
    pub(crate) fn has(&self, program: &Program) -> bool {
        let key = self.key(program);
        !lanes::runs_all() && key.is_some() && self.read().get(&program.name).copied() == key
    }

    /// Notes how a program ended; `passed`: it passed, and skipped nothing.
    pub(crate) fn note(&self, program: &Program, passed: bool) -> Result<()> {
        let mut table = self.read();
        match self.key(program).filter(|_| passed) {
            Some(key) => table.insert(program.name.clone(), key),
            None => table.remove(&program.name),
        };
        let folder = self.table.parent().context("the table lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let text = serde_json::to_string_pretty(&table).context("a table of numbers")?;
        fs::write(&self.table, text).with_context(|| format!("cannot write {}", self.table.display()))
    }

    /// The table; nothing if the file cannot be read.
    fn read(&self) -> BTreeMap<String, u64> {
        let text = fs::read_to_string(&self.table).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// What a program's answer depends on; `None` for one whose answer depends on more.
    fn key(&self, program: &Program) -> Option<u64> {
        if program.name == BUILDS || !DETERMINISTIC.iter().any(|pattern| matches(&program.name, pattern)) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        self.common.hash(&mut hasher);
        fs::read(&program.path).ok()?.hash(&mut hasher);
        if program.name.starts_with("cli/") {
            fs::read(self.ntrace.as_ref()?).ok()?.hash(&mut hasher);
        }
        Some(hasher.finish())
    }
}

/// What all programs depend on: these inputs, the checkout's files that are no Rust, the installed packages, the processor, the kernel, and
/// the variables that change tests.
fn common(inputs: &[&Path]) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    let root = run::root();
    let listed = run::output(Command::new("git").args(["ls-files", "-z"]).current_dir(&root))?;
    // A test program contains what is compiled of Rust, except the programs that it traces.
    let is_data = |name: &&str| !name.is_empty() && (!name.ends_with(".rs") || name.contains("/programs/"));
    let data = listed.split('\0').filter(is_data).map(|name| root.join(name));
    let system = ["/proc/sys/kernel/osrelease", "/var/lib/dpkg/status"].map(PathBuf::from);
    let given = inputs.iter().map(|path| path.to_path_buf());
    for path in { data }.chain(system).chain(given) {
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

    #[test]
    fn a_program_that_passed_runs_again_when_its_bytes_or_its_inputs_change_or_it_fails() {
        let folder = std::env::temp_dir().join(format!("unchanged-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (path, input) = (folder.join("program"), folder.join("input"));
        let write = |path: &Path, text: &str| fs::write(path, text).unwrap();
        write(&path, "one");
        write(&input, "one");
        let table = folder.join("passed/table.json");
        let passed = || Passed { table: table.clone(), common: common(&[&input]).unwrap(), ntrace: None };
        let program = |name: &str| Program { name: name.into(), path: path.clone(), package: PathBuf::new() };
        let (pure, other) = (program("insn/tests/x.rs"), program("ubp/tests/x.rs"));
        for program in [&pure, &other] {
            assert!(!passed().has(program));
            passed().note(program, true).unwrap();
        }
        assert!(passed().has(&pure));
        // Its answer depends on more than its inputs.
        assert!(!passed().has(&other));
        write(&input, "two");
        assert!(!passed().has(&pure));
        write(&input, "one");
        assert!(passed().has(&pure));
        write(&path, "two");
        assert!(!passed().has(&pure));
        write(&path, "one");
        passed().note(&pure, false).unwrap();
        assert!(!passed().has(&pure));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_test_of_the_command_depends_on_the_command() {
        let path = std::env::current_exe().unwrap();
        let program = Program { name: "cli/tests/list.rs".into(), path: path.clone(), package: PathBuf::new() };
        let passed = |ntrace| Passed { table: PathBuf::new(), common: 0, ntrace };
        assert_eq!(passed(None).key(&program), None);
        assert!(passed(Some(path)).key(&program).is_some());
    }
}
