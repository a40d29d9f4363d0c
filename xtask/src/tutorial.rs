//! The tutorial docs/extending.md: its diff, and a copy of the module's sources with that diff.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::run;

/// The tutorial.
const PAGE: &str = "docs/extending.md";
/// What the module is built from.
const SOURCES: [&str; 6] = ["Cargo.toml", "insn/src", "kmod", "stepping/src", "ubp/src", "wire/src"];

/// The blocks of a page that are diffs, one behind the other.
fn diffs(page: &str) -> String {
    let mut is_inside = false;
    let mut text = String::new();
    for line in page.lines() {
        match line {
            "```diff" => is_inside = true,
            "```" => is_inside = false,
            _ if is_inside => text += &format!("{line}\n"),
            _ => {}
        }
    }
    text
}

/// The tutorial's diff.
fn diff() -> Result<String> {
    Ok(diffs(&fs::read_to_string(run::root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?))
}

/// Applies a diff to the files of a folder, at the lines that it shows and nowhere else.
fn apply(diff: &str, folder: &Path) -> Result<()> {
    let mut git = Command::new("git");
    // Inside a repository git would pass over files that the repository has elsewhere.
    git.arg("apply").current_dir(folder).env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder));
    let mut git = git.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start git")?;
    git.stdin.take().context("git has an input")?.write_all(diff.as_bytes()).context("git ended early")?;
    let output = git.wait_with_output().context("git")?;
    if !output.status.success() {
        bail!("the diff of {PAGE} does not apply to the sources: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Copies the module's sources with the tutorial's diff into a folder. A file that has the same contents already keeps its time, so that
/// the next build compiles only what has changed.
pub(crate) fn copy(folder: &Path) -> Result<()> {
    let listed = run::output(Command::new("git").args(["ls-files"]).args(SOURCES).current_dir(run::root()))?;
    let fresh = folder.with_extension("fresh");
    let _ = fs::remove_dir_all(&fresh);
    // A file that was deleted and not committed is listed still.
    let files: Vec<&str> = listed.lines().filter(|file| run::root().join(file).exists()).collect();
    for file in &files {
        write(&fresh.join(file), &fs::read(run::root().join(file)).with_context(|| format!("cannot read {file}"))?)?;
    }
    apply(&diff()?, &fresh)?;
    for file in &files {
        write(&folder.join(file), &fs::read(fresh.join(file)).with_context(|| format!("cannot read {file}"))?)?;
    }
    fs::remove_dir_all(&fresh).with_context(|| format!("cannot remove {}", fresh.display()))
}

/// The folder of the copy that the lanes build.
pub(crate) fn folder() -> PathBuf {
    run::root().join("target/tutorial")
}

/// Writes a file unless it has these contents.
fn write(path: &Path, contents: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == contents) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path)).with_context(|| format!("no folder for {}", path.display()))?;
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A program that prints the vocabulary of the crate `wire` that it is linked with.
    const LISTING: &str =
        "fn main() { let mut text = String::new(); wire::manual::listing(&mut text).unwrap(); print!(\"{text}\"); }";

    /// A folder of this test's own.
    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ntrace-tutorial-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    /// The lines that a diff adds and removes in each file.
    fn lines(diff: &str) -> BTreeMap<&str, (usize, usize)> {
        let (mut files, mut file) = (BTreeMap::<&str, (usize, usize)>::new(), "");
        for line in diff.lines() {
            if let Some(name) = line.strip_prefix("+++ b/") {
                file = name;
            } else if line.starts_with('+') {
                files.entry(file).or_default().0 += 1;
            } else if line.starts_with('-') && !line.starts_with("---") {
                files.entry(file).or_default().1 += 1;
            }
        }
        files
    }

    #[test]
    fn a_command_and_an_event_take_the_files_and_lines_that_the_tutorial_says() {
        let page = fs::read_to_string(run::root().join(PAGE)).unwrap();
        let diff = diffs(&page);
        let lines = lines(&diff);
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        // No line is changed, and no place but a declaration and a function is touched.
        for (file, (added, removed)) in &lines {
            assert!(page.contains(&format!("`{file}`, {added} lines")), "{PAGE} gives {file} other than {added} lines");
            assert_eq!(*removed, 0, "{file}");
        }
        let added: usize = lines.values().map(|(added, _)| added).sum();
        assert!(page.contains(&format!("{added} lines in {} files", lines.len())), "{added} {}", lines.len());
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn the_tutorial_s_diff_applies_and_wire_knows_the_new_words_and_passes_its_tests() {
        let folder = scratch("wire");
        copy(&folder).unwrap();
        let rustc = |arguments: &[&str]| {
            let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            // The checkout names the toolchain.
            command.args(["--edition", "2024", "-D", "warnings", "-L"]).arg(&folder).args(arguments);
            run::bytes(command.current_dir(run::root())).unwrap();
        };
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let (source, library, tests) = (path("wire/src/lib.rs"), path("libwire.rlib"), path("tests"));
        rustc(&[&source, "--crate-name", "wire", "--crate-type", "rlib", "--cfg", "feature=\"alloc\"", "-o", &library]);
        rustc(&[&source, "--crate-name", "wire", "--test", "-o", &tests]);
        run::bytes(&mut Command::new(&tests)).unwrap();
        let (program, listing) = (path("listing.rs"), path("listing"));
        fs::write(&program, LISTING).unwrap();
        rustc(&[&program, "--extern", &format!("wire={library}"), "-o", &listing]);
        let listing = run::output(&mut Command::new(&listing)).unwrap();
        assert!(listing.contains("command 0x0050 pull debuggee:word -> tail:blob\n"), "{listing}");
        assert!(listing.contains("event 0x800d meow debuggee:word thread:word held:word\n"), "{listing}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_diff_does_not_apply_to_sources_that_have_changed_at_its_place() {
        let folder = scratch("drift");
        let file = folder.join("a");
        let diff = "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n+new\n two\n";
        for (text, expected) in [("one\ntwo\n", Some("one\nnew\ntwo\n")), ("one\n2\n", None)] {
            write(&file, text.as_bytes()).unwrap();
            assert_eq!(apply(diff, &folder).is_ok(), expected.is_some());
            assert_eq!(fs::read_to_string(&file).unwrap(), expected.unwrap_or(text));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_does_not_change_keeps_its_time() {
        let folder = scratch("time");
        let file = folder.join("inner/a");
        write(&file, b"text").unwrap();
        let time = |to: Option<u64>| {
            let file = fs::File::options().write(true).open(&file).unwrap();
            if let Some(seconds) = to {
                file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            }
            file.metadata().unwrap().modified().unwrap()
        };
        let old = time(Some(1));
        write(&file, b"text").unwrap();
        assert_eq!(time(None), old);
        write(&file, b"other").unwrap();
        assert_ne!(time(None), old);
        fs::remove_dir_all(folder).unwrap();
    }
}
