use std::fs::OpenOptions;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use crate::pipe;

/// The whole environment of every compared program, whose behaviour then depends neither on chance nor on addresses.
pub(super) const ENVIRONMENT: [(&str, &str); 5] = [
    ("LC_ALL", "C"),
    ("PATH", "/usr/bin:/bin"),
    ("PERL_HASH_SEED", "0"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONMALLOC", "malloc"),
];

/// What a program showed to the world.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code or signal, as the shell would tell it.
    pub status: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `command` with an empty standard input and a small fixed environment.
///
/// # Panics
/// Where it cannot be started.
pub fn run(command: &mut Command) -> Outcome {
    let output = prepare(command).output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    Outcome {
        status: output.status.to_string(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `ntrace` with a site on every instruction like [`run`], without what it tells by [`without_exclusives`].
///
/// # Panics
/// Where it cannot be started.
pub fn run_traced(command: &mut Command) -> Outcome {
    let outcome = run(command);
    Outcome { stderr: without_exclusives(&outcome.stderr), ..outcome }
}

/// Standard error without the lines by which `ntrace` tells of instructions that carry no breakpoint, where they are those of
/// arm64's exclusive sequences: every program with a C library has some. Other refusals stay.
pub fn without_exclusives(stderr: &str) -> String {
    let is_other = |line: &&str| {
        let Some(told) = line.trim_end().strip_prefix("ntrace: ") else { return true };
        let is_head = told.ends_with("instructions carry no breakpoint:");
        let is_tail = told.starts_with("  and ") && told.ends_with(" more");
        !(is_head || is_tail || told.contains(": in an exclusive sequence, "))
    };
    stderr.split_inclusive('\n').filter(is_other).collect()
}

/// Runs `command` like [`run`], with `/dev/null` as its output too. Returns how it ended.
///
/// # Panics
/// Where it cannot be started.
pub fn run_silently(command: &mut Command) -> ExitStatus {
    let status = prepare(command).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"))
}

/// The descriptor that every process of a run has open: higher than any that a program looks at.
const HELD: i32 = 200;

/// Processor seconds of one process, in which those that end use some tens.
const SECONDS: u32 = 900;

/// Runs `command` like [`run`] with both outputs in one file, which may grow to `limit` bytes: `SIGXFSZ` ends what writes on.
/// What its children write counts as well, though it may end before them. `SIGXCPU` ends a process that spins without end.
///
/// # Panics
/// Where it cannot be started.
pub fn run_within(limit: u64, command: &Command) -> (String, ExitStatus) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let output = || OpenOptions::new().append(true).open(file.path()).expect("a temporary file");
    let mut limited = Command::new("prlimit");
    limited
        .args([format!("--fsize={limit}"), format!("--cpu={SECONDS}")])
        .arg(command.get_program())
        .args(command.get_args());
    let (mut reader, writer) = pipe();
    let end = writer.as_raw_fd();
    // SAFETY: dup2 may be called between fork and exec; both numbers are those of descriptors or free.
    unsafe {
        limited.pre_exec(move || match libc::dup2(end, HELD) {
            HELD => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let status = prepare(&mut limited).stdout(output()).stderr(output()).status().expect("prlimit is needed");
    drop(writer);
    // Nobody writes to it: its end is that of the last process.
    reader.read_to_end(&mut Vec::new()).expect("a pipe can be read");
    let bytes = std::fs::read(file.path()).expect("the output");
    (String::from_utf8_lossy(&bytes).into_owned(), status)
}

/// The variable that says which runs of programs are wanted: nothing, [`Length`]'s words, or names of programs (`sort,awk`).
const VARIABLE: &str = "NTRACE_WHOLE_PROGRAMS";

/// How long a program takes with a site on every instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Length {
    /// Some seconds: always wanted.
    Short,
    /// Up to some minutes: if the variable `NTRACE_WHOLE_PROGRAMS` is `all`.
    Long,
    /// An hour: if the variable is `longest`.
    Longest,
}

/// Whether a run of that length is wanted of a program; where the variable names programs, only theirs are.
pub fn wanted(name: &str, length: Length) -> bool {
    wanted_by(&std::env::var(VARIABLE).unwrap_or_default(), name, length)
}

fn wanted_by(value: &str, name: &str, length: Length) -> bool {
    match value {
        "" => length == Length::Short,
        "all" => length != Length::Longest,
        "longest" => length == Length::Longest,
        names => names.split(',').any(|one| one == name),
    }
}

/// Whether all but the longest runs are wanted.
pub fn all() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == "all")
}

/// `ntrace count` with a site on every instruction of a program, which the caller adds; it writes the counts to `counts`.
pub fn count_everything(counts: &Path) -> Command {
    let mut command = Command::new(ntrace());
    command.args(["count", "--every-instruction", "-o"]).arg(counts);
    command
}

/// The sum of the hits in a file of counts.
///
/// # Panics
/// Where the file does not.
pub fn hits_in_all(counts: &Path) -> u64 {
    let text = std::fs::read_to_string(counts).expect("the counts");
    let total = text.lines().last().and_then(|line| line.split_whitespace().next());
    total.and_then(|total| total.parse().ok()).unwrap_or_else(|| panic!("no sum in {}: {text}", counts.display()))
}

fn prepare(command: &mut Command) -> &mut Command {
    command.env_clear().envs(ENVIRONMENT.iter().copied()).stdin(Stdio::null())
}

/// The `ntrace` command: the one that the variable `NTRACE_COMMAND` names, or else built for release from this workspace.
///
/// # Panics
/// Where it cannot be built.
pub fn ntrace() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(command) = std::env::var_os("NTRACE_COMMAND") {
            return PathBuf::from(command);
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package", "ntrace-cli"])
            .current_dir(&root)
            .status()
            .unwrap_or_else(|error| panic!("cannot run cargo: {error}"));
        assert!(status.success(), "cannot build ntrace: {status}");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        target.join("release/ntrace")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_chosen_by_their_length_or_by_name() {
        use Length::{Long, Longest, Short};
        let chosen = |value: &str| [Short, Long, Longest].map(|length| wanted_by(value, "awk", length));
        assert_eq!(chosen(""), [true, false, false]);
        assert_eq!(chosen("all"), [true, true, false]);
        assert_eq!(chosen("longest"), [false, false, true]);
        assert_eq!(chosen("sort,awk"), [true; 3]);
        assert_eq!(chosen("gawk"), [false; 3]);
    }

    #[test]
    fn refusals_in_exclusive_sequences_are_left_out_and_no_others() {
        let told = |reason| {
            format!(
                "one\nntrace: 2 instructions carry no breakpoint:\nntrace:   a!0x4: {reason}\nntrace:   and 1 more\ntwo\n"
            )
        };
        assert_eq!(
            without_exclusives(&told("in an exclusive sequence, whose store would fail each time")),
            "one\ntwo\n"
        );
        assert_eq!(without_exclusives(&told("unmapped")), "one\nntrace:   a!0x4: unmapped\ntwo\n");
    }

    #[test]
    fn what_a_child_writes_after_its_parents_end_is_output_too() {
        let mut command = Command::new("sh");
        command.args(["-c", "(while kill -0 $$ 2>/dev/null; do :; done; echo late) & echo soon"]);
        let (output, status) = run_within(1000, &command);
        assert_eq!((output.as_str(), status.success()), ("soon\nlate\n", true));
    }
}
