//! `ntrace top`, on real terminals whose screens are read.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::terminal::Terminal;
use common::{build, run, scratch, stderr};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use vt100::Parser;

/// The rows and columns of the terminals.
const SIZE: (u16, u16) = (12, 100);

/// Prints whether the terminal edits lines and echoes input.
const MODES: &str = "echo MODES $(stty -a | tr ' ' '\\n' | grep -x 'icanon\\|echo')";

/// A terminal and what is on its screen.
struct View {
    terminal: Terminal,
    screen: Parser,
    /// The bytes that are on the screen.
    seen: usize,
}

impl View {
    fn new(script: &str, variables: &[(&str, &str)]) -> View {
        let variables = [&[("LC_ALL", "C.UTF-8")], variables].concat();
        let terminal = Terminal::sized(script, &variables, SIZE);
        View { terminal, screen: Parser::new(SIZE.0, SIZE.1, 0), seen: 0 }
    }

    /// Waits until the screen is as wanted, and returns its lines.
    fn until(&mut self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        for _ in 0..600 {
            let lines: Vec<String> = self.screen.screen().rows(0, SIZE.1.max(200)).collect();
            if wanted(&lines) {
                return lines;
            }
            self.read();
        }
        panic!("{what}: {:?}", self.screen.screen().contents());
    }

    /// Waits until the head of a column shows that the rows are sorted by it.
    fn until_sorted_by(&mut self, column: &str) {
        for _ in 0..600 {
            let head: String = self.screen.screen().rows(0, SIZE.1).nth(1).unwrap_or_default();
            let at = head.find(column).unwrap_or_default() as u16;
            if self.screen.screen().cell(1, at).is_some_and(vt100::Cell::inverse) {
                return;
            }
            self.read();
        }
        panic!("{column}: {:?}", self.screen.screen().contents());
    }

    /// Reads what the terminal shows next.
    fn read(&mut self) {
        let there = self.terminal.read(Duration::from_millis(100));
        self.screen.process(&self.terminal.shown.as_bytes()[self.seen..]);
        let is_new = self.terminal.shown.len() > self.seen;
        self.seen = self.terminal.shown.len();
        assert!(there || is_new, "the end of {:?}", self.terminal.shown);
    }

    fn press(&mut self, keys: &str) {
        self.terminal.keyboard.write_all(keys.as_bytes()).unwrap();
    }
}

/// A program that runs until it is killed, in a terminal's stead.
struct Running(Child);

impl Running {
    fn new(program: &Path) -> Running {
        Running(Command::new(program).arg("reads").stdin(Stdio::piped()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Whether the program ends by itself when it reads a line, with status 0.
    fn goes_on(mut self) -> bool {
        assert_eq!(self.0.try_wait().unwrap(), None);
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        self.0.wait().unwrap().success()
    }
}

fn has(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.contains(text))
}

#[test]
fn the_view_follows_hits_keys_and_sizes_and_leaves_the_program_alone() {
    let program = build("terminal.c", &[]);
    let running = Running::new(&program);
    let mut view = View::new("$N top -b beat -b poll -p $T; echo STATUS $?", &[("T", &running.pid())]);
    view.until("both functions", |lines| has(lines, "!beat") && has(lines, "libc.so.6!poll"));
    // The bars grow to the left of the locations.
    view.until("bars", |lines| lines.iter().any(|line| line.contains("!beat") && line.contains('█')));
    view.press("/BEA");
    view.until("a filter", |lines| has(lines, "filter: BEA_") && has(lines, "!beat") && !has(lines, "!poll"));
    view.press("\r");
    view.until("the end of typing", |lines| has(lines, "/ filter: BEA"));
    view.press("\x1b");
    view.until("no filter", |lines| has(lines, "!poll"));
    view.press("l");
    view.until_sorted_by("LOCATION");
    view.press("p");
    view.until("a pause", |lines| lines[0].contains("paused"));
    view.press(" ");
    view.until("no pause", |lines| !lines[0].contains("paused"));
    view.terminal.resize((6, 60));
    view.screen.set_size(6, 60);
    view.until("a smaller view", |lines| {
        lines.len() == 6 && lines[5].starts_with("q quit") && !has(lines, "UNTIL NOW")
    });
    view.press("q");
    let lines = view.until("the counts", |lines| has(lines, "STATUS"));
    assert!(has(&lines, "STATUS 0") && has(&lines, "in all"), "{lines:?}");
    assert!(!view.screen.screen().alternate_screen());
    assert!(running.goes_on());
}

#[test]
fn a_program_of_top_has_no_terminal_and_its_end_is_that_of_the_view() {
    let file = scratch("written");
    let program = "bash -c 'test -t 0 -o -t 2 || echo apart; exec $P beats 20 aloud'";
    let script = format!("$N top -b beat -- {program} >{}; echo STATUS $?; {MODES}", file.display());
    let mut view = View::new(&script, &[]);
    view.until("the view", |lines| has(lines, "!beat") && lines[0].starts_with("ntrace top:"));
    let lines = view.until("the counts", |lines| has(lines, "STATUS") && has(lines, "MODES"));
    assert!(has(&lines, "STATUS 0") && has(&lines, " 200  "), "{lines:?}");
    // Line editing and echo are on again.
    assert!(has(&lines, "MODES icanon echo"), "{lines:?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "apart\n<begin><end>");
}

#[test]
fn whatever_is_killed_the_program_goes_on_and_the_terminal_is_given_back() {
    let program = build("terminal.c", &[]);
    for whom in ["front", "worker"] {
        let running = Running::new(&program);
        let script = "$N top -b beat -p $T & echo $! >$F; fg >/dev/null; echo STATUS $?; echo END";
        let file = scratch("front");
        let mut view = View::new(script, &[("T", &running.pid()), ("F", file.to_str().unwrap())]);
        view.until("the view", |lines| has(lines, "!beat") && lines[0].starts_with("ntrace top:"));
        let front: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{front}/task/{front}/children")).unwrap();
        let worker: i32 = children.trim().parse().unwrap();
        let killed = if whom == "front" { front } else { worker };
        kill(Pid::from_raw(killed), Signal::SIGKILL).unwrap();
        // The worker gives the terminal back in the place of the front, before or after the shell writes: what it wrote may not stay on the screen.
        while view.terminal.read(Duration::from_secs(60)) {}
        assert!(view.terminal.shown.contains("END"), "{whom}: {:?}", view.terminal.shown);
        view.screen.process(&view.terminal.shown.as_bytes()[view.seen..]);
        assert!(!view.screen.screen().alternate_screen(), "{whom}");
        assert!(running.goes_on(), "{whom}");
    }
}

#[test]
fn without_a_terminal_top_says_what_to_use_instead() {
    let output = run(&["top", "-b", "main", "--", "/bin/true"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "ntrace: standard error is no terminal: ntrace count writes to files, pipes and any terminal\n";
    assert_eq!(stderr(&output), expected);
    let dumb = Terminal::run("$N top -b main -- /bin/true; echo STATUS $?", &[("TERM", "dumb")]).finish();
    assert!(dumb.contains("(TERM)") && dumb.ends_with("STATUS 2\r\n"), "{dumb:?}");
    let piped = Terminal::run("$N top -b main -- /bin/true </dev/null; echo STATUS $?", &[]).finish();
    assert!(piped.contains("standard input is no terminal") && piped.ends_with("STATUS 2\r\n"), "{piped:?}");
}

#[test]
fn a_failure_before_the_view_is_told_on_the_terminal() {
    let shown = Terminal::run("$N top -b no_such_function -- $P beats 1; echo STATUS $?", &[]).finish();
    assert!(shown.contains("ntrace: 'no_such_function'") && shown.ends_with("STATUS 125\r\n"), "{shown:?}");
}
