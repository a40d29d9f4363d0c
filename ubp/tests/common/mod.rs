//! Building debuggees and driving them.
#![allow(dead_code, unreachable_pub, reason = "every test file uses another part")]

#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
pub mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
pub mod machine;
pub mod signals;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use ubp::{Address, Arch, BreakpointId, Event, EventKind, Mechanism, Options, Pid, Session, Spec, Tid};

/// Builds tests/programs/NAME.c with `flags`, once, and returns the program's path.
pub fn build(name: &str, flags: &[&str]) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let number = built.len();
    let make = || {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let source = programs.join(format!("{name}.c"));
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "{}-{}-{number}",
            name.replace('/', "-"),
            std::process::id()
        ));
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O1", "-pthread", "-I"]).arg(programs.join(machine::FOLDER));
        gcc.arg("-o").arg(&out).arg(&source).args(flags);
        assert!(gcc.status().expect("gcc is needed to build the debuggees").success(), "gcc failed on {name}.c");
        out
    };
    built.entry(format!("{name} {flags:?}")).or_insert_with(make).clone()
}

/// Starts a program whose standard input and output are pipes.
pub fn start(path: &Path, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(path);
    let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

/// Reads a line.
pub fn line(out: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    line
}

/// Addresses of the program's symbols, relative to its load address, by `nm`.
pub fn symbols(path: &Path) -> BTreeMap<String, u64> {
    let output = Command::new("nm").arg(path).output().expect("nm is needed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((words.nth(1)?.to_string(), address))
        })
        .collect()
}

/// The load address of the program's file.
pub fn load_address(session: &Session, pid: Pid) -> u64 {
    let process = session.process(pid).unwrap();
    let path = process.executable().to_path_buf();
    let maps = process.maps().unwrap();
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).expect("the program is mapped");
    first.start.0 - first.offset
}

/// The address of a symbol of the program.
pub fn symbol(session: &Session, pid: Pid, name: &str) -> Address {
    let path = session.process(pid).unwrap().executable().to_path_buf();
    let offset = *symbols(&path).get(name).unwrap_or_else(|| panic!("no symbol {name}"));
    Address(if is_pie(&path) { load_address(session, pid) } else { 0 } + offset)
}

/// The addresses of all instructions of a function, by objdump.
pub fn instructions(path: &Path, function: &str) -> Vec<u64> {
    type Functions = BTreeMap<String, Vec<u64>>;
    static KNOWN: Mutex<BTreeMap<PathBuf, Functions>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || {
        let mut objdump = Command::new("objdump");
        let output = objdump.args(["-d", "--no-show-raw-insn"]).arg(path).output().expect("objdump is needed");
        let mut functions = Functions::new();
        let mut name = String::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            if let Some((_, rest)) = line.split_once(" <").filter(|_| line.ends_with(">:")) {
                // Labels inside of a function begin with its instructions' purpose.
                if !rest.starts_with("at_") {
                    name = rest.trim_end_matches(">:").to_string();
                }
            } else if let Some((address, _)) = line.trim().split_once(":\t") {
                functions.entry(name.clone()).or_default().push(u64::from_str_radix(address, 16).unwrap());
            }
        }
        functions
    };
    let functions = known.entry(path.to_path_buf()).or_insert_with(read);
    functions.get(function).unwrap_or_else(|| panic!("no function {function}")).clone()
}

/// A session without signal events: over the kernel module if it is loaded, otherwise over ptrace.
pub fn session() -> Session {
    session_with(|_| ())
}

/// A session with the given options: over the kernel module if possible, otherwise over ptrace.
pub fn session_with(choose: impl FnOnce(&mut Options)) -> Session {
    let mut options = Options::default();
    options.signals = false;
    choose(&mut options);
    Session::open(Mechanism::Auto, options).unwrap()
}

/// The flags of gcc for programs of each width that can be built here.
pub fn widths(test: &str) -> Vec<&'static [&'static str]> {
    let empty = |flags: &[&str]| {
        let mut gcc = Command::new("gcc");
        gcc.args(flags).args(["-x", "c", "/dev/null", "-shared", "-o", "/dev/null"]).stderr(Stdio::null());
        gcc.status().is_ok_and(|status| status.success())
    };
    let all = machine::WIDTHS.iter().copied();
    let (can, cannot): (Vec<&'static [&'static str]>, Vec<_>) = all.partition(|flags| empty(flags));
    for flags in cannot {
        skip(test, &format!("no gcc {}", flags.concat()));
    }
    can
}

/// The mechanism to test: the kernel module if it is loaded, otherwise ptrace.
pub fn mechanism() -> Mechanism {
    if Path::new("/dev/ntrace").exists() { Mechanism::Kernel } else { Mechanism::Ptrace }
}

/// Spawns loop.c, which calls `work` with 0, 1, … as often as its argument says.
pub fn at_work(args: &[&str]) -> (Session, Pid, Address) {
    at_work_in(session(), args)
}

/// Spawns loop.c over ptrace, which supports more operations.
pub fn at_work_by_ptrace(args: &[&str]) -> (Session, Pid, Address) {
    at_work_in(Session::new().unwrap(), args)
}

fn at_work_in(mut session: Session, args: &[&str]) -> (Session, Pid, Address) {
    let program = build("loop", &[]);
    let pid = session.spawn(piped(&program, args)).unwrap();
    let work = symbol(&session, pid, "work");
    (session, pid, work)
}

/// The functions of compat.c.
pub const COMPAT: &[&str] = &["work", "run", "main", "on_usr1"];

/// Counts every instruction of functions of a program; returns the calls of the first, over all processes.
pub fn counted(name: &str, flags: &[&str], functions: &[&str], arch: Arch) -> u64 {
    let program = build(name, flags);
    let plain = undisturbed(&program, &[]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    assert_eq!(session.process(pid).unwrap().arch(), arch);
    let base = if is_pie(&program) { load_address(&session, pid) } else { 0 };
    let sites = functions.iter().flat_map(|function| instructions(&program, function));
    let specs: Vec<Spec> = sites.map(|at| Spec::count(Address(base + at))).collect();
    let first = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).next().unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits += session.breakpoint(event.pid, first).unwrap().hits();
        }
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    let exit = outcome.exits.iter().find(|exit| exit.0 == pid).map(|exit| exit.1.clone());
    assert_eq!(exit, Some(EventKind::Exited(plain.status.code().unwrap())));
    hits
}

/// Runs the program undisturbed.
pub fn undisturbed(path: &Path, args: &[&str]) -> Output {
    Command::new(path).args(args).output().unwrap()
}

/// A command whose output is collected.
pub fn piped(path: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(path);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}

/// The outcome of a traced run.
#[derive(Debug, Default)]
pub struct Outcome {
    pub output: Vec<u8>,
    pub exits: Vec<(Pid, EventKind)>,
    pub hits: BTreeMap<BreakpointId, u64>,
    pub events: u64,
}

impl Outcome {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.output).unwrap()
    }
}

/// Resumes held threads until no debuggee is left. `look` gets every event first.
pub fn run(session: &mut Session, pid: Pid, mut look: impl FnMut(&mut Session, &Event)) -> Outcome {
    run_with(session, pid, |session, event| {
        look(session, event);
        false
    })
}

/// [`run`], where `look` says whether it has let the thread of the event run.
pub fn run_with(session: &mut Session, pid: Pid, mut look: impl FnMut(&mut Session, &Event) -> bool) -> Outcome {
    let reader = session.take_stdio(pid).stdout.map(|mut pipe| {
        std::thread::spawn(move || {
            let mut all = Vec::new();
            std::io::Read::read_to_end(&mut pipe, &mut all).unwrap();
            all
        })
    });
    let mut outcome = Outcome::default();
    while let Some(event) = session.wait().unwrap() {
        outcome.events += 1;
        let runs = look(session, &event);
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) => outcome.exits.push((event.pid, event.kind.clone())),
            EventKind::Hit(ref hit) => {
                hit.breakpoints().for_each(|(id, _)| *outcome.hits.entry(id).or_default() += 1);
            }
            EventKind::Forked { child } => session.resume(child.leader()).unwrap(),
            _ => {}
        }
        if event.is_held() && !runs {
            session.resume(event.tid).unwrap();
        }
    }
    outcome.output = reader.map(|reader| reader.join().unwrap()).unwrap_or_default();
    outcome
}

/// Spawns, puts counting breakpoints on every instruction of `functions`, and returns the session and process.
pub fn spawn_with_sites(path: &Path, args: &[&str], functions: &[&str]) -> (Session, Pid, Vec<BreakpointId>) {
    let mut session = session();
    let pid = session.spawn(piped(path, args)).unwrap();
    let base = if is_pie(path) { load_address(&session, pid) } else { 0 };
    let mut specs = Vec::new();
    for function in functions {
        specs.extend(instructions(path, function).into_iter().map(|at| Spec::count(Address(base + at))));
    }
    let ids = session.insert(pid, &specs).unwrap().into_iter().map(|answer| answer.unwrap()).collect();
    session.resume(pid.leader()).unwrap();
    (session, pid, ids)
}

/// Whether the program is position-independent (ET_DYN).
pub fn is_pie(path: &Path) -> bool {
    std::fs::read(path).unwrap()[16] == 3
}

/// The only exit of a run.
pub fn exit_of(outcome: &Outcome) -> EventKind {
    assert_eq!(outcome.exits.len(), 1, "{:?}", outcome.exits);
    outcome.exits[0].1.clone()
}

/// A thread of a process, by number.
pub fn leader(pid: Pid) -> Tid {
    pid.leader()
}

/// Kills a process.
pub fn kill(pid: Pid) {
    // SAFETY: kill takes numbers.
    unsafe { libc::kill(pid.0, libc::SIGKILL) };
}

/// Waits until a killed process is a zombie or gone.
pub fn await_end(pid: Pid) {
    while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
}

/// Notes that a test cannot run on this machine.
pub fn skip(name: &str, reason: &str) {
    let line = format!("SKIPPED {name}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("NTRACE_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        std::io::Write::write_all(&mut file.unwrap(), line.as_bytes()).unwrap();
    }
}
