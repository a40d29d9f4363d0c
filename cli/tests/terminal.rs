//! The live line, on real terminals.

mod common;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::build;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

const NTRACE: &str = env!("CARGO_BIN_EXE_ntrace");

/// Three times the interval between two updates of the live line.
const WHILE: Duration = Duration::from_millis(600);

/// A shell with job control on its own terminal.
struct Terminal {
    keyboard: File,
    shell: Child,
    /// Everything that the terminal has shown.
    shown: String,
}

impl Terminal {
    /// Runs a script. `$N` is ntrace, and `$P` is the program that uses the terminal.
    fn run(script: &str, variables: &[(&str, &str)]) -> Terminal {
        let (mut keyboard, mut programs) = (-1, -1);
        let (name, termios, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
        // SAFETY: both numbers are live, and the other arguments may be null. The terminal then has 0 columns.
        assert_eq!(unsafe { libc::openpty(&mut keyboard, &mut programs, name, termios, size) }, 0);
        // SAFETY: both descriptors are new, and nothing else owns them.
        let (keyboard, programs) = unsafe { (File::from_raw_fd(keyboard), File::from_raw_fd(programs)) };
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| build("terminal.c", &["-static"]));
        let mut command = Command::new("bash");
        command.args(["--norc", "-m", "-c", script]).env("N", NTRACE).env("P", program).env("TERM", "xterm");
        command.env_remove("NO_COLOR").envs(variables.iter().copied());
        let end = || Stdio::from(programs.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        let own_session = || {
            // SAFETY: setsid takes no argument, and this ioctl takes a number. Standard input is the terminal.
            let done = unsafe { libc::setsid() != -1 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
            if done { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        // SAFETY: the closure calls only setsid and ioctl, which are async-signal-safe.
        unsafe { command.pre_exec(own_session) };
        let shell = command.spawn().unwrap();
        Terminal { keyboard, shell, shown: String::new() }
    }

    /// Reads what the terminal shows next, with a timeout. Returns `false` if no program has the terminal open any more.
    fn read(&mut self, time: Duration) -> bool {
        let mut fds = [PollFd::new(self.keyboard.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::try_from(time).unwrap()).unwrap() == 0 {
            return true;
        }
        let mut bytes = [0; 4096];
        match self.keyboard.read(&mut bytes) {
            Ok(read) if read > 0 => self.shown.push_str(&String::from_utf8_lossy(&bytes[..read])),
            _ => return false,
        }
        true
    }

    /// Returns what the terminal shows from now on, up to `wanted`.
    fn until(&mut self, wanted: &str) -> String {
        let (start, begin) = (self.shown.len(), Instant::now());
        while !self.shown[start..].contains(wanted) {
            let there = self.read(Duration::from_millis(100));
            let waits = there && begin.elapsed() < Duration::from_secs(60);
            assert!(waits || self.shown[start..].contains(wanted), "no {wanted:?} in {:?}", self.shown);
        }
        self.shown[start..].to_string()
    }

    /// Returns what the terminal shows during a given time.
    fn during(&mut self, time: Duration) -> String {
        let (start, begin) = (self.shown.len(), Instant::now());
        while let Some(rest) = time.checked_sub(begin.elapsed()) {
            assert!(self.read(rest), "the end of {:?}", self.shown);
        }
        self.shown[start..].to_string()
    }

    /// Returns everything that the terminal shows up to the end.
    fn finish(mut self) -> String {
        while self.read(Duration::from_secs(60)) {}
        self.shell.wait().unwrap();
        self.shown
    }
}

/// Returns the totals of the live line in the order in which they appeared.
fn totals(shown: &str) -> Vec<u64> {
    let before = shown.match_indices(" hits").map(|(at, _)| &shown[..at]);
    before.filter_map(|text| text.rsplit([' ', '\r', '\n']).next()?.parse().ok()).collect()
}

#[test]
fn the_live_line_tells_hits_and_where_most_are_and_makes_room_for_the_counts() {
    for variables in [&[][..], &[("NO_COLOR", "1")]] {
        let shown = Terminal::run("$N count -b beat -- $P beats 8; echo END", variables).finish();
        assert!(!totals(&shown).is_empty(), "{shown:?}");
        assert!(shown.contains(", most at ") && shown.contains("!beat"), "{shown:?}");
        let last = shown.rfind("\r\x1b[2K").expect("the line is taken away");
        assert!(!shown[last..].contains(" hits,") && shown[last..].contains(" 80  "), "{shown:?}");
    }
}

#[test]
fn no_live_line_where_it_is_not_wanted_or_cannot_be_rewritten() {
    let plain = "$N count -b beat -o /dev/null -- $P beats 5; echo END";
    let quiet = plain.replace("count", "count --quiet");
    let redirected = plain.replace("; echo", " 2>/dev/null; echo");
    let recorded = "$N record --quiet -o /dev/null -- $P beats 5; echo END";
    let cases = [(plain, "dumb"), (&quiet, "xterm"), (&redirected, "xterm"), (recorded, "xterm")];
    for (terminal, case) in cases.map(|case| (Terminal::run(case.0, &[("TERM", case.1)]), case)) {
        assert_eq!(terminal.finish(), "END\r\n", "{case:?}");
    }
}

#[test]
fn a_stopped_job_leaves_the_terminal_to_the_shell_and_takes_it_again_in_the_foreground() {
    let start = |(command, live)| {
        let script = format!("$N {command} -o /dev/null -- $P reads; echo BACK; read; fg >/dev/null; echo END");
        (Terminal::run(&script, &[]), live)
    };
    for (mut terminal, live) in [("count -b beat", " hits"), ("record", " instructions ")].map(start) {
        terminal.until(live);
        terminal.keyboard.write_all(b"\x1a").unwrap();
        terminal.until("BACK");
        let shown = terminal.during(WHILE);
        assert!(!shown.contains(live), "{shown:?}");
        terminal.keyboard.write_all(b"\n").unwrap();
        terminal.until(live);
        terminal.keyboard.write_all(b"\n").unwrap();
        terminal.until("END");
        terminal.finish();
    }
}

#[test]
fn a_job_in_the_background_writes_its_results_and_no_live_line() {
    // A write of a background job would stop that job.
    let script = "stty tostop; $N count -b beat -- $P beats 6 & wait; echo END";
    let shown = Terminal::run(script, &[]).finish();
    assert!(totals(&shown).is_empty(), "{shown:?}");
    assert!(shown.contains(" 60  ") && shown.contains("END"), "{shown:?}");
}

#[test]
fn a_program_that_reads_keys_has_the_terminal_for_itself() {
    let mut terminal = Terminal::run("$N count -b beat -o /dev/null -- $P raw; echo END", &[]);
    terminal.until("<taken>");
    let shown = terminal.until("<given back>");
    assert!(totals(&shown).is_empty(), "{shown:?}");
    terminal.until(" hits");
    terminal.finish();
}

#[test]
fn a_shell_within_has_the_terminal_for_its_own_jobs() {
    let script = "$N count -b beat -o /dev/null -- bash --norc -m -c '$P beats 6 aloud; true'; echo END";
    let mut terminal = Terminal::run(script, &[]);
    terminal.until("<begin>");
    let shown = terminal.until("<end>");
    assert!(totals(&shown).is_empty(), "{shown:?}");
    terminal.finish();
}

#[test]
fn hits_of_a_program_that_executes_another_are_counted_once() {
    let shown = Terminal::run("$N count -b beat -- $P execs 3; echo END", &[]).finish();
    let totals = totals(&shown);
    assert!(totals.iter().any(|total| *total > 20), "{totals:?}");
    assert!(totals.is_sorted() && totals.iter().all(|total| *total <= 40), "{totals:?}");
    assert!(shown.contains(" 40  in all"), "{shown:?}");
}

#[test]
fn a_recording_is_not_written_to_a_terminal() {
    let shown = Terminal::run("$N record -o - -- $P beats 1; echo $?", &[]).finish();
    assert!(shown.starts_with("ntrace: ") && shown.ends_with("2\r\n"), "{shown:?}");
}
