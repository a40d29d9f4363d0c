//! Each failure has a clear message and its own exit status.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::{build, ntrace, run, scratch, stderr, stdout};

fn file(name: &str, bytes: &[u8], mode: u32) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn programs_that_cannot_be_run_are_told_apart() {
    let ls = fs::read("/bin/ls").unwrap();
    let mut foreign = ls.clone();
    foreign[18..20].copy_from_slice(&22u16.to_le_bytes());
    let cases = [
        (PathBuf::from("/no/such/program"), 127, "no such program"),
        (PathBuf::from("no-such-program-anywhere"), 127, "no such program"),
        (PathBuf::from("/"), 126, "a directory"),
        (file("plain", &ls, 0o644), 126, "Permission denied"),
        (file("foreign", &foreign, 0o755), 126, "s390"),
        (file("short", &ls[..3000], 0o755), 126, "corrupt ELF file"),
        (file("noise", &[1, 2, 3, 0, 0, 0, 255], 0o755), 126, "not an ELF file"),
        (file("script", b"#!/no/such/interpreter\n", 0o755), 126, "interpreter"),
    ];
    for (path, status, message) in cases {
        let output = run(&["trace", "-b", "main", "--", path.to_str().unwrap()]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{}: {text}", path.display());
        assert!(text.starts_with("ntrace: ") && text.contains(message), "{}: {text}", path.display());
    }
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let output = run(&["count", "-b", "main", "-p", "4194304"]);
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(stderr(&output), "ntrace: no such process: 4194304\n");
}

/// Returns the message with which both commands that attach refuse a process.
fn refused(pid: impl std::fmt::Display) -> String {
    let pid = pid.to_string();
    let [count, record] =
        [&["count", "-b", "main", "-p", &pid][..], &["record", "-o", "/dev/null", "-p", &pid]].map(run);
    assert_eq!(stderr(&count), stderr(&record));
    assert_eq!(count.status, record.status);
    assert_eq!(stderr(&count).lines().count(), 1, "{}", stderr(&count));
    stderr(&count)
}

/// Returns a field of /proc/PID/status.
fn status(pid: u32, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim_start().into()
}

#[test]
fn a_zombie_is_told_with_the_parent_that_keeps_it() {
    let mut child = Command::new("true").spawn().unwrap();
    while !status(child.id(), "State:").starts_with('Z') {
        std::thread::yield_now();
    }
    let text = refused(child.id());
    let parent = format!("process {} (", std::process::id());
    assert!(text.contains(&format!("process {} (true) is a zombie: it has ended, and {parent}", child.id())), "{text}");
    child.wait().unwrap();
}

#[test]
fn a_thread_is_told_with_its_process() {
    let (own, thread) = (std::process::id(), nix::unistd::gettid());
    assert_ne!(own as i32, thread.as_raw(), "tests run in threads");
    let text = refused(thread);
    assert!(text.contains(&format!("{thread} is a thread of process {own} (")), "{text}");
    assert!(text.ends_with(&format!(": give -p {own}\n")), "{text}");
}

#[test]
fn a_thread_of_the_kernel_runs_no_program() {
    let is_kernel = fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n");
    if !is_kernel {
        return crossing::skip("messages, of a thread of the kernel", "none can be seen here");
    }
    assert_eq!(refused(2), "ntrace: process 2 (kthreadd) is a kernel thread: it runs no program\n");
}

#[test]
fn ntrace_does_not_trace_itself() {
    let script = format!("exec {} count -b main -p $$", env!("CARGO_BIN_EXE_ntrace"));
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(stderr(&output).ends_with("(ntrace) is ntrace itself\n"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(126));
}

#[test]
fn an_ancestor_is_traced_with_a_warning() {
    // The shell executes another program, which ends with its input.
    let hits = scratch("hits");
    let script = format!("{} trace -b libc!read -o {} -p $$ & exec cat", env!("CARGO_BIN_EXE_ntrace"), hits.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let warning = lines.next().unwrap().unwrap();
    assert!(warning.starts_with(&format!("ntrace: warning: process {} (", child.id())), "{warning}");
    assert!(warning.contains("is an ancestor of ntrace"), "{warning}");
    let mut input = child.stdin.take().unwrap();
    while fs::metadata(&hits).map_or(0, |file| file.len()) == 0 {
        input.write_all(b"x").unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(input);
    child.wait().unwrap();
    assert_eq!(lines.map(Result::unwrap).collect::<Vec<_>>(), [""; 0]);
}

/// Runs ntrace in new namespaces, which needs privileges.
fn apart(flags: &[&str], prepare: &str) -> Option<Output> {
    let script = format!("{prepare} && exec {} count -b main -- true", env!("CARGO_BIN_EXE_ntrace"));
    let unshare = |script: &str| Command::new("unshare").args(flags).args(["sh", "-c", script]).output();
    if !unshare(prepare).is_ok_and(|output| output.status.success()) {
        crossing::skip("messages, of /proc", format_args!("unshare {flags:?} is not permitted here"));
        return None;
    }
    unshare(&script).ok()
}

#[test]
fn a_proc_that_is_missing_or_of_other_processes_is_told_with_what_mounts_it() {
    let missing = apart(&["--mount", "--propagation", "private"], "mount -t tmpfs none /proc");
    let foreign = apart(&["--pid", "--fork"], "true");
    for (output, what) in [(missing, "/proc/self: No such file"), (foreign, "/proc belongs to another PID namespace")] {
        let Some(output) = output else { continue };
        let text = stderr(&output);
        assert!(text.contains(what) && text.ends_with("mount -t proc proc /proc\n"), "{text}");
        assert_eq!(output.status.code(), Some(125), "{text}");
    }
}

#[test]
fn a_debuggee_that_is_a_tracer_itself_is_told_why_it_fails_and_what_helps() {
    let program = build("tracer.c", &[]);
    let count = |flags: &[&str]| {
        let mut ntrace = ntrace();
        ntrace.args(["count", "--backend", "ptrace", "-b", "main", "-o", "/dev/null"]).args(flags);
        ntrace.arg("--").arg(&program).output().unwrap()
    };
    let output = count(&[]);
    assert_eq!(stdout(&output), "Operation not permitted\n");
    let text = stderr(&output);
    assert!(text.contains(") asks to trace process ") && text.contains("--no-follow"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let output = count(&["--no-follow"]);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("seized\n", ""));
}

#[test]
fn ntrace_under_a_tracer_says_whose_its_children_are() {
    for inner in [&["count", "--backend", "ptrace", "-b", "main"][..], &["record", "-o", "/dev/null"]] {
        let mut ntrace = ntrace();
        ntrace.args([
            "count",
            "--backend",
            "ptrace",
            "-b",
            "main",
            "-o",
            "/dev/null",
            "--",
            env!("CARGO_BIN_EXE_ntrace"),
        ]);
        let output = ntrace.args(inner).args(["--", "true"]).output().unwrap();
        let text = stderr(&output);
        assert!(text.contains("ntrace: true: ntrace is traced by process "), "{text}");
        assert_eq!(output.status.code(), Some(126), "{text}");
    }
}

#[test]
fn what_is_missing_is_said_once_however_many_programs_are_executed() {
    let script = "/bin/true; /bin/true; exec /bin/echo done";
    let output = run(&["count", "-b", "no_such_function", "libc!write", "-o", "/dev/null", "--", "sh", "-c", script]);
    let text = stderr(&output);
    assert_eq!(text.matches("waiting for libraries").count(), 1, "{text}");
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    for args in [
        &["trace"][..],
        &["trace", "-b", "main"],
        &["trace", "--", "true"],
        &["trace", "-b", "main", "-p", "0"],
        &["trace", "-b", "main", "-p", "1", "--", "true"],
        &["trace", "-b", "0xzz", "--", "true"],
        &["nonsense"],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn help_shows_examples() {
    for command in ["trace", "count", "explain", "survey"] {
        let output = run(&[command, "--help"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("Examples:") && text.contains(&format!("ntrace {command}")), "{text}");
    }
}
