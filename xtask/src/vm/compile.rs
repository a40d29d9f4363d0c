//! Compiles on the host what programs in a virtual machine ask `tests/vm/gcc` for.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use super::machine::Arch;
use crate::{cross, run};

/// The folder of the requests, in the job's folder.
const FOLDER: &str = "compile";
/// The time between two looks for requests.
const LOOK: Duration = Duration::from_millis(10);

/// Makes the folder of the requests, which names the checkout to the machine.
pub(super) fn prepare(job: &Path) -> Result<()> {
    let folder = job.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let root = folder.join("root");
    fs::write(&root, run::root().as_os_str().as_encoded_bytes())
        .with_context(|| format!("cannot write {}", root.display()))
}

/// Answers requests until `is_over` is set. The machine's own compiler serves where an answer fails.
pub(super) fn serve(job: &Path, arch: Arch, is_over: &AtomicBool) {
    let folder = job.join(FOLDER);
    while !is_over.load(Ordering::Relaxed) {
        for request in requests(&folder) {
            if let Err(error) = answer(&request, arch) {
                eprintln!("vm: cannot compile for the machine: {error:#}");
                let _ = finish(&request, "none");
            }
        }
        std::thread::sleep(LOOK);
    }
}

fn requests(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension() == Some(OsStr::new("request"))).collect()
}

fn answer(request: &Path, arch: Arch) -> Result<()> {
    let text = fs::read_to_string(request).with_context(|| format!("cannot read {}", request.display()))?;
    let out = request.with_extension("out");
    let mut words = text.lines();
    let compiler = format!("{}{}", arch.facts().cross_compile, words.next().unwrap_or_default());
    let errors = request.with_extension("err");
    let errors = File::create(&errors).with_context(|| format!("cannot make {}", errors.display()))?;
    let mut command = Command::new(compiler);
    command.args(with_output(words, &out)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([cross::gcc_folder()]);
    command.env("PATH", std::env::join_paths(folders).context("PATH")?).env("LC_ALL", "C.UTF-8");
    let status = command.status().ok().and_then(|status| status.code());
    finish(request, &status.map_or("none".to_owned(), |status| status.to_string()))
}

/// The arguments of a compiler, with another output file.
fn with_output<'a>(words: impl Iterator<Item = &'a str>, out: &'a Path) -> Vec<&'a OsStr> {
    let mut is_next = false;
    let replaced = words.map(|word| {
        let word = if is_next { out.as_os_str() } else { OsStr::new(word) };
        is_next = word == "-o";
        word
    });
    replaced.collect()
}

/// Writes the status as one step, which tells the machine that the answer is complete.
fn finish(request: &Path, status: &str) -> Result<()> {
    fs::remove_file(request).with_context(|| format!("cannot remove {}", request.display()))?;
    let written = request.with_extension("written");
    fs::write(&written, status).with_context(|| format!("cannot write {}", written.display()))?;
    fs::rename(&written, request.with_extension("status")).context("cannot rename the status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_compiler_goes_to_the_folder_of_requests() {
        let words = ["-O1", "-o", "/tmp/a", "/c/a.c", "-lm"];
        assert_eq!(with_output(words.into_iter(), "/j/1.out".as_ref()), ["-O1", "-o", "/j/1.out", "/c/a.c", "-lm"]);
    }

    #[test]
    fn a_request_is_answered_by_a_program_or_by_what_the_compiler_says() {
        let folder = std::env::temp_dir().join(format!("compile-{}", std::process::id()));
        prepare(&folder).unwrap();
        let ask = |name: &str, words: &str| {
            let request = folder.join(FOLDER).join(name).with_extension("request");
            fs::write(&request, words).unwrap();
            assert!(requests(&folder.join(FOLDER)).contains(&request));
            answer(&request, Arch::X86_64).unwrap();
            fs::read_to_string(request.with_extension("status")).unwrap()
        };
        assert_eq!(ask("1", "true\n-o\n/x\n"), "0");
        assert_eq!(ask("2", "false\n"), "1");
        assert_eq!(ask("3", "no-such-compiler\n"), "none");
        assert_eq!(ask("4", "ls\n/no/such/file\n"), "2");
        let said = fs::read_to_string(folder.join(FOLDER).join("4.err")).unwrap();
        assert!(said.contains("/no/such/file"), "{said}");
        fs::remove_dir_all(folder).unwrap();
    }
}
