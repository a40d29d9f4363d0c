//! Building debuggees and driving them.
#![allow(dead_code, unreachable_pub, reason = "every test file uses another part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use ubp::{Address, BreakpointId, Event, EventKind, Pid, Session, Spec, Tid};

/// Builds tests/programs/NAME.c with `flags`, once, and returns the program's path.
pub fn build(name: &str, flags: &[&str]) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let number = built.len();
    let make = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(format!("{name}.c"));
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O1", "-pthread", "-o"]).arg(&out).arg(&source).args(flags);
        assert!(gcc.status().expect("gcc is needed to build the debuggees").success(), "gcc failed on {name}.c");
        out
    };
    built.entry(format!("{name} {flags:?}")).or_insert_with(make).clone()
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

/// Where the program's file is loaded.
pub fn load_address(session: &Session, pid: Pid) -> u64 {
    let process = session.process(pid).unwrap();
    let path = process.executable().to_path_buf();
    let maps = process.maps().unwrap();
    let first = maps.iter().find(|map| map.path.as_deref() == Some(&path)).expect("the program is mapped");
    first.start.0 - first.offset
}

/// The address of a symbol of a position-independent program.
pub fn symbol(session: &Session, pid: Pid, name: &str) -> Address {
    let path = session.process(pid).unwrap().executable().to_path_buf();
    let offset = *symbols(&path).get(name).unwrap_or_else(|| panic!("no symbol {name}"));
    Address(load_address(session, pid) + offset)
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

/// What a traced run came to.
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

/// Resumes whatever is held until no debuggee is left. `look` sees every event before.
pub fn run(session: &mut Session, pid: Pid, mut look: impl FnMut(&mut Session, &Event)) -> Outcome {
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
        look(session, &event);
        match event.kind {
            EventKind::Exited(_) | EventKind::Killed(_) => outcome.exits.push((event.pid, event.kind.clone())),
            EventKind::Hit(id) => *outcome.hits.entry(id).or_default() += 1,
            EventKind::Forked { child } => session.resume(child.leader()).unwrap(),
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    outcome.output = reader.map(|reader| reader.join().unwrap()).unwrap_or_default();
    outcome
}

/// Spawns, puts counting breakpoints on every instruction of `functions`, and returns the session and process.
pub fn spawn_with_sites(path: &Path, args: &[&str], functions: &[&str]) -> (Session, Pid, Vec<BreakpointId>) {
    let mut session = Session::new().unwrap();
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

/// Whether the program is loaded anywhere (ET_DYN).
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
