//! ntrace attaches to running processes, and handles signals.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::running::Running;
use common::{build, ntrace, scratch, stderr};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use ubp::arch::BREAKPOINT;

/// A program that runs until a signal ends it.
struct Waits {
    child: Running,
    lines: BufReader<ChildStdout>,
    /// The address of its function `beat`.
    beat: u64,
    /// The first bytes of the function.
    code: Code,
}

/// As many bytes of code as a breakpoint instruction has.
type Code = [u8; BREAKPOINT.len()];

impl Waits {
    fn start() -> Waits {
        Waits::start_by(&mut Command::new(build("waits.c", &[])))
    }
    fn start_by(command: &mut Command) -> Waits {
        let mut child = Running::start(command.stdout(Stdio::piped()));
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut waits = Waits { child, lines, beat: 0, code: Code::default() };
        let line = waits.line();
        let beat = line.trim_end().strip_prefix("ready 0x").and_then(|beat| u64::from_str_radix(beat, 16).ok());
        waits.beat = beat.unwrap_or_else(|| panic!("{line:?}"));
        waits.code = waits.read_code();
        waits
    }
    fn read_code(&self) -> Code {
        let mut bytes = Code::default();
        let memory = fs::File::open(format!("/proc/{}/mem", self.pid())).unwrap();
        memory.read_exact_at(&mut bytes, self.beat).unwrap();
        bytes
    }
    /// Waits until `beat` has a breakpoint, be it a breakpoint instruction or a jump, and then until the program has reached it.
    fn beats_with_a_breakpoint(&mut self) {
        until("the breakpoint", || self.read_code() != self.code);
        // The program calls `beat` between two answers.
        for _ in 0..2 {
            self.send(Signal::SIGUSR2);
            assert_eq!(self.line(), "alive\n");
        }
    }
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
    fn pid(&self) -> String {
        self.child.id().to_string()
    }
    fn send(&self, signal: Signal) {
        send(self.child.id(), signal);
    }
    /// Checks that the program still works, has no tracer, and ends as it does without ntrace.
    fn ends_clean(mut self) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        assert!(status.contains("TracerPid:\t0\n"), "{status}");
        self.send(Signal::SIGUSR2);
        assert_eq!(self.line(), "alive\n");
        self.send(Signal::SIGTERM);
        assert_eq!(self.line(), "done\n");
        assert_eq!(self.child.wait().unwrap().code(), Some(3));
    }
}

fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid as i32), signal).unwrap();
}

/// Waits until a condition holds, with a deadline.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |file| file.len())
}

#[test]
fn an_interrupt_ends_the_count_and_prints_it_and_the_process_runs_on() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut waits = Waits::start();
        let file = scratch("counts");
        let mut ntrace = ntrace();
        ntrace.args(["count", "-b", "beat", "--format", "json", "-p", &waits.pid(), "-o"]).arg(&file);
        let child = Running::start(ntrace.stderr(Stdio::piped()));
        waits.beats_with_a_breakpoint();
        send(child.id(), signal);
        let output = child.output();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let table: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert!(table["total"].as_u64().unwrap() > 0, "{table}");
        waits.ends_clean();
    }
}

#[test]
fn killing_ntrace_leaves_the_process_clean() {
    let waits = Waits::start();
    let file = scratch("hits");
    let mut ntrace = ntrace();
    ntrace.args(["trace", "-b", "beat", "-p", &waits.pid(), "-o"]).arg(&file);
    let mut child = Running::start(&mut ntrace);
    until("a hit", || size(&file) > 0);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    until("the detachment", || {
        let status = fs::read_to_string(format!("/proc/{}/status", waits.pid())).unwrap();
        status.contains("TracerPid:\t0\n")
    });
    waits.ends_clean();
}

#[test]
fn a_process_that_ends_by_itself_gives_its_status() {
    let mut waits = Waits::start();
    let file = scratch("hits");
    let mut ntrace = ntrace();
    ntrace.args(["trace", "-b", "beat", "-p", &waits.pid(), "-o"]).arg(&file);
    let mut child = Running::start(&mut ntrace);
    until("a hit", || size(&file) > 0);
    waits.send(Signal::SIGTERM);
    assert_eq!(waits.line(), "done\n");
    waits.child.wait().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn signals_to_ntrace_reach_the_program_that_it_started() {
    let program = build("waits.c", &[]);
    let file = scratch("hits");
    let mut ntrace = ntrace();
    ntrace.args(["trace", "-b", "beat", "-o"]).arg(&file).arg("--").arg(&program);
    let mut child = Running::start(ntrace.stdout(Stdio::piped()));
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line
    };
    assert!(line().starts_with("ready "));
    until("a hit", || size(&file) > 0);
    send(child.id(), Signal::SIGUSR2);
    assert_eq!(line(), "alive\n");
    send(child.id(), Signal::SIGTERM);
    assert_eq!(line(), "done\n");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Opens a pseudo-terminal. Returns the side of the keyboard and the side of the programs.
fn terminal() -> (fs::File, fs::File) {
    let (mut keyboard, mut programs) = (-1, -1);
    let (name, termios, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: both numbers are live, and the other arguments may be null.
    assert_eq!(unsafe { libc::openpty(&mut keyboard, &mut programs, name, termios, size) }, 0);
    // SAFETY: both descriptors are new, and nothing else owns them.
    unsafe { (fs::File::from_raw_fd(keyboard), fs::File::from_raw_fd(programs)) }
}

#[test]
fn the_first_ctrl_c_is_the_programs_and_the_second_ends_ntrace_and_the_program_runs_on() {
    let program = build("waits.c", &[]);
    let file = scratch("counts");
    let (mut keyboard, programs) = terminal();
    let mut ntrace = ntrace();
    ntrace.args(["count", "-b", "beat", "--format", "json", "-o"]).arg(&file).arg("--").arg(&program).arg("terminal");
    ntrace.stdin(programs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let own_session = || {
        // SAFETY: setsid takes no argument, and this ioctl takes a number. Standard input is the terminal.
        let done = unsafe { libc::setsid() != -1 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
        if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure calls only setsid and ioctl, which are async-signal-safe.
    unsafe { ntrace.pre_exec(own_session) };
    let mut child = Running::start(&mut ntrace);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line
    };
    assert!(line().starts_with("ready "));
    let mut press = || keyboard.write_all(b"\x03").unwrap();
    let status = |pid: u32| fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    press();
    let said = line();
    let pid: u32 = said.trim_end().strip_prefix("interrupted ").unwrap_or_else(|| panic!("{said:?}")).parse().unwrap();
    // ntrace has received the signal too and continues: no signal is pending, and the program is still traced.
    until("the first key", || status(child.id()).contains("ShdPnd:\t0000000000000000"));
    send(pid, Signal::SIGUSR2);
    assert_eq!(line(), "alive\n");
    // A process that the kernel module traces has no ptrace tracer.
    assert_eq!(status(pid).contains("TracerPid:\t0\n"), Path::new("/dev/ntrace").exists());
    assert_eq!(child.try_wait().unwrap(), None);
    press();
    let said = line();
    assert_eq!(said, format!("interrupted {pid}\n"));
    until("the end of ntrace", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let table: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(table["total"].as_u64().unwrap() > 0, "{table}");
    assert!(status(pid).contains("TracerPid:\t0\n"));
    send(pid, Signal::SIGUSR2);
    assert_eq!(line(), "alive\n");
    send(pid, Signal::SIGTERM);
    assert_eq!(line(), "done\n");
}

#[test]
fn an_indirect_function_of_a_running_process_is_found_by_asking_its_resolver() {
    let mut waits = Waits::start();
    let mut ntrace = ntrace();
    ntrace.args(["count", "--all", "-b", "libc!strlen", "memcpy", "beat", "-p", &waits.pid()]);
    let child = Running::start(ntrace.stderr(Stdio::piped()));
    waits.beats_with_a_breakpoint();
    send(child.id(), Signal::SIGINT);
    let output = child.output();
    let text = stderr(&output);
    assert!(text.contains("!strlen") || text.contains("(strlen)"), "{text}");
    waits.ends_clean();
}

#[test]
#[cfg(target_arch = "x86_64")]
fn where_jumps_find_no_memory_is_said_and_hits_are_counted() {
    let mut waits = Waits::start_by(Command::new(build("waits.c", &[])).env("FULL", "1"));
    let mut ntrace = ntrace();
    ntrace.args(["count", "--backend", "ptrace", "-b", "beat", "-p", &waits.pid()]);
    let child = Running::start(ntrace.stderr(Stdio::piped()));
    waits.beats_with_a_breakpoint();
    send(child.id(), Signal::SIGINT);
    let output = child.output();
    let text = stderr(&output);
    let program = fs::read_link(format!("/proc/{}/exe", waits.pid())).unwrap();
    let name = program.file_name().unwrap().to_str().unwrap();
    let said = format!("ntrace: {name}: each hit at 1 location stops its thread, because there is no jump: no memory");
    assert!(text.contains(&said) && text.contains(&format!("  {name}!beat at ")), "{text}");
    waits.ends_clean();
}

#[test]
fn ctrl_c_ends_the_wait_for_a_process_that_waits_in_vfork() {
    let mut vforks = Command::new(build("vforks.c", &[]));
    let mut target = Running::start(vforks.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut lines = BufReader::new(target.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(line(), "child\n");
    let mut ntrace = ntrace();
    ntrace.args(["count", "-b", "beat", "-p", &target.id().to_string()]).stderr(Stdio::null()).stdout(Stdio::null());
    let mut child = Running::start(&mut ntrace);
    until("the attachment", || {
        let status = fs::read_to_string(format!("/proc/{}/status", target.id())).unwrap();
        !status.contains("TracerPid:\t0\n") || Path::new("/dev/ntrace").exists()
    });
    send(child.id(), Signal::SIGINT);
    until("the end of ntrace", || child.try_wait().unwrap().is_some());
    target.stdin.take().unwrap().write_all(b"x").unwrap();
    assert_eq!(line(), "done 5\n");
    assert_eq!(target.wait().unwrap().code(), Some(0));
}
