//! A copy of the checkout in which rooms are changed, and its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::switch::Switched;
use crate::run;

/// A test program that was built.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// Where it runs: its package's folder.
    pub(super) folder: PathBuf,
}

/// The outcome of a build.
pub(super) enum Built {
    Programs(Vec<Program>),
    /// Numbers of mutants that do not compile.
    Without(BTreeSet<usize>),
}

/// The copy.
pub(super) struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// Copies the files of the checkout as they are now. Files that an older copy has alike stay, so that cargo does not build them again.
    pub(super) fn copy() -> Result<Tree> {
        let tree = Tree { folder: run::root().join("target/mutants/tree") };
        let mut command = Command::new("git");
        command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(run::root());
        let names = run::output(&mut command)?;
        for name in names.split_terminator('\0') {
            // git lists a removed file until the removal is committed.
            if let Ok(bytes) = fs::read(run::root().join(name)) {
                tree.write(name, &bytes)?;
            }
        }
        Ok(tree)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        let folder = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Builds the tests that `selection` names, with the switched files in their places.
    pub(super) fn build(&self, selection: &[&str], switched: &BTreeMap<String, Switched>) -> Result<Built> {
        for (name, file) in switched {
            self.write(name, file.text.as_bytes())?;
        }
        let mut command = run::cargo(&["test", "--no-run", "--locked", "--message-format=json"]);
        command.args(selection).current_dir(&self.folder).stderr(Stdio::inherit());
        command.env("CARGO_TARGET_DIR", self.folder.with_file_name("build"));
        // Each body runs rarely, so optimisation costs more than it gains.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        // The bodies of single mutants cause countless warnings.
        command.env("RUSTFLAGS", "--cap-lints=allow");
        let output = command.stdout(Stdio::piped()).output().context("cannot start `cargo test`")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if output.status.success() {
            return Ok(Built::Programs(messages.iter().filter_map(program).collect()));
        }
        let (mut without, mut others) = (BTreeSet::new(), String::new());
        for message in messages.iter().filter_map(|message| message.get("message")) {
            if message["level"] != "error" {
                continue;
            }
            match place(message, switched) {
                Some(number) => drop(without.insert(number)),
                None => others += message["rendered"].as_str().unwrap_or("an error"),
            }
        }
        // The last error of each crate only says that there were others.
        if without.is_empty() {
            bail!("`cargo test {}` failed: {}\n{others}", selection.join(" "), output.status);
        }
        Ok(Built::Without(without))
    }
}

/// The test program that a message of cargo describes.
fn program(message: &Value) -> Option<Program> {
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let is_test = message["profile"]["test"] == true;
    let folder = PathBuf::from(message.get("manifest_path")?.as_str()?).parent()?.to_path_buf();
    is_test.then_some(Program { path, folder })
}

/// The mutant whose body contains an error.
fn place(message: &Value, switched: &BTreeMap<String, Switched>) -> Option<usize> {
    message["spans"].as_array()?.iter().find_map(|span| {
        let file = switched.get(span["file_name"].as_str()?)?;
        let line = usize::try_from(span["line_start"].as_u64()?).ok()?;
        file.lines.iter().find(|(_, lines)| lines.contains(&line)).map(|(number, _)| *number)
    })
}
