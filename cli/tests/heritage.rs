//! A program that ntrace starts inherits the state that the shell gave to ntrace.

mod common;

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{build, ntrace, scratch};
use nix::libc;

/// The state that a process gets before it executes `ntrace` or the program itself.
#[derive(Clone, Copy, Debug)]
struct Given {
    ignored: &'static [libc::c_int],
    blocked: &'static [libc::c_int],
    closed: &'static [libc::c_int],
    files: Option<u64>,
}

impl Given {
    fn give(&self) -> io::Result<()> {
        // SAFETY: between fork and exec the code calls only async-signal-safe functions, with numbers and live structures.
        unsafe {
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut mask);
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            for &signal in self.ignored {
                libc::signal(signal, libc::SIG_IGN);
            }
            for &signal in self.blocked {
                libc::sigaddset(&mut mask, signal);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            if let Some(files) = self.files {
                let limit = libc::rlimit { rlim_cur: files, rlim_max: files };
                libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
                libc::umask(0o027);
                libc::dup2(1, 9);
            }
            for &fd in self.closed {
                libc::close(fd);
            }
        }
        Ok(())
    }
}

/// Returns the program's report of the state that it inherited.
fn inherited(mut command: Command, given: Given, program: &Path) -> String {
    let out = scratch("heritage");
    command.arg(program).arg(&out);
    // A shell sets the variable `_` to the program's name, which differs.
    command.env_remove("_").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: `give` calls only async-signal-safe functions, and the closure owns the values that it uses.
    unsafe { command.pre_exec(move || given.give()) };
    let status = command.status().unwrap();
    assert!(status.success(), "{given:?}: {command:?}: {status}");
    fs::read_to_string(out).unwrap()
}

#[test]
fn signals_descriptors_limits_and_environment_are_those_that_ntrace_was_given() {
    let program = build("heritage.c", &[]);
    let plain = Given { ignored: &[], blocked: &[], closed: &[], files: None };
    let nohup = Given { ignored: &[libc::SIGHUP, libc::SIGPIPE, libc::SIGUSR1], ..plain };
    let daemon = Given { ignored: &[libc::SIGCHLD, libc::SIGTTOU], closed: &[0, 1, 2], ..plain };
    let odd =
        Given { blocked: &[libc::SIGUSR2, libc::SIGCHLD, libc::SIGINT, 40], closed: &[1], files: Some(77), ..plain };
    for given in [plain, nohup, daemon, odd] {
        let alone = inherited(Command::new("env"), given, &program);
        for way in ["count", "trace", "record"] {
            // A recording single-steps the whole report, which takes long: one case is enough.
            if way == "record" && given.ignored != nohup.ignored {
                continue;
            }
            let mut command = ntrace();
            match way {
                "record" => command.args(["record", "-o", "/dev/null", "--"]),
                way => command.args([way, "-b", "main", "-o", "/dev/null", "--"]),
            };
            assert_eq!(inherited(command, given, &program), alone, "{way} {given:?}");
        }
    }
}

#[test]
fn a_program_that_inherits_an_ignored_sigpipe_is_not_killed_by_a_closed_pipe() {
    let program = build("heritage.c", &[]);
    let given = Given { ignored: &[libc::SIGPIPE], blocked: &[], closed: &[], files: None };
    let mut command = ntrace();
    command.args(["count", "-b", "main", "-o", "/dev/null", "--"]);
    let text = inherited(command, given, &program);
    assert!(text.contains(&format!("signal {} ignored", libc::SIGPIPE)), "{text}");
}
