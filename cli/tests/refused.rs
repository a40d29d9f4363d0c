//! If the kernel forbids tracing, or another tracer exists, ntrace reports it at once and the program does not run.

mod common;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{ntrace, scratch, stderr};
use nix::libc;

/// Every command that starts a program.
const WAYS: [&[&str]; 3] =
    [&["count", "-b", "main", "--"], &["trace", "-b", "main", "--"], &["record", "-o", "/dev/null", "--"]];
/// The longest time of a refusal.
const LIMIT: Duration = Duration::from_secs(5);

/// Makes ptrace(2) fail with EPERM in the calling process and in the processes that it starts.
fn forbid_ptrace() -> io::Result<()> {
    const LOAD_NUMBER: libc::sock_filter = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    const IS_PTRACE: libc::sock_filter = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::SYS_ptrace as u32 };
    const REFUSE: libc::sock_filter =
        libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::EPERM as u32 };
    const ALLOW: libc::sock_filter = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let mut code = [LOAD_NUMBER, IS_PTRACE, REFUSE, ALLOW];
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    // SAFETY: prctl takes numbers and, in the second call, a filter whose code is live.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn refusal(mut command: Command, flag: &std::path::Path) -> String {
    let begin = Instant::now();
    let mut child = command
        .args(["/bin/sh", "-c", "touch \"$0\""])
        .arg(flag)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", stderr(&output));
    assert!(!flag.exists(), "the program ran");
    stderr(&output)
}

#[test]
fn a_filter_that_forbids_ptrace_is_told_at_once() {
    for way in WAYS {
        let mut command = ntrace();
        command.args(way);
        // SAFETY: the closure calls only prctl, which is async-signal-safe.
        unsafe { command.pre_exec(forbid_ptrace) };
        let text = refusal(command, &scratch("ran"));
        assert!(text.contains("trace"), "{text}");
    }
}

#[test]
fn a_program_whose_starter_is_traced_is_refused_by_its_tracers_name() {
    for way in WAYS {
        let mut command = ntrace();
        command.args(["count", "-b", "main", "-o", "/dev/null", "--", env!("CARGO_BIN_EXE_ntrace")]).args(way);
        let text = refusal(command, &scratch("ran"));
        assert!(text.contains("traced by process"), "{text}");
    }
}
