//! Other values in dead registers and flags do not change what programs do.
#![cfg(target_arch = "x86_64")]

use std::collections::HashMap;
use std::io::Read;
use std::process::Stdio;

use crossing::Random;
use insn::x86::{Dead, Mode, Reg, dead, decode};
use object::{Object, ObjectSection, ObjectSymbol};
use ubp::{Address, Command, EventKind, Session, Spec};

/// Breakpoints in the C library.
const SITES: usize = 20_000;
/// Hits of a breakpoint after which it is removed.
const HITS: u32 = 6;

/// The C library's code, with the addresses of instructions in functions that other modules can call.
struct Library {
    start: u64,
    code: Vec<u8>,
    instructions: Vec<u64>,
}

fn library(path: &str) -> Library {
    let bytes = std::fs::read(path).expect("the library can be read");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let text = file.section_by_name(".text").expect("code");
    let (start, code) = (text.address(), text.data().expect("bytes").to_vec());
    let mut instructions = Vec::new();
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text) {
        let (mut at, end) = (symbol.address(), symbol.address() + symbol.size());
        while at < end {
            let rest = at.checked_sub(start).and_then(|offset| code.get(offset as usize..));
            let Some(insn) = rest.and_then(|rest| decode(rest, Mode::AMD_64.lenient()).ok()) else { break };
            instructions.push(at);
            at += insn.len() as u64;
        }
    }
    instructions.sort_unstable();
    instructions.dedup();
    Library { start, code, instructions }
}

/// The lowest address at which the process maps the library, and its path.
fn mapped(pid: ubp::Pid) -> Option<(u64, String)> {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", pid.0)).ok()?;
    let line = maps.lines().find(|line| line.ends_with("/libc.so.6"))?;
    let path = line.get(line.find('/')?..)?.to_owned();
    Some((u64::from_str_radix(line.split('-').next()?, 16).ok()?, path))
}

/// Gives the held thread other values in what is dead.
fn overwrite(session: &mut Session, tid: ubp::Tid, dead: Dead, random: &mut Random) {
    let mut registers = session.registers(tid).expect("the thread is held");
    for reg in dead.registers.iter().filter(|reg| reg.as_gpr().is_some_and(|number| number < 16)) {
        assert!(registers.set(reg, random.next()), "{reg}");
    }
    let flags = registers.get(Reg::FLAGS).expect("flags");
    registers.set(Reg::FLAGS, flags ^ u64::from(random.next() as u32 & dead.flags.bits()));
    session.set_registers(tid, &registers).expect("registers can be set");
}

/// The output of a program whose dead values are overwritten, and how many were.
fn disturbed(arguments: &[&str], random: &mut Random) -> (Vec<u8>, [u64; 3]) {
    let mut session = Session::new().expect("a session");
    let mut command = Command::new(arguments[0]);
    command.args(&arguments[1..]).stdout(Stdio::piped());
    let pid = session.spawn(command).expect("the program starts");
    session.resume(pid.leader()).expect("the first thread is held");
    let mut output = session.take_stdio(pid).stdout.expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).map(|_| bytes)
    });
    let (mut library_of, mut sites, mut counted) = (None, HashMap::new(), [0; 3]);
    let mut hits: HashMap<(ubp::Pid, ubp::BreakpointId), u32> = HashMap::new();
    while let Some(event) = session.wait().expect("an event") {
        match event.kind {
            EventKind::Hit(ref hit) => {
                let breakpoint = hit.id();
                if let Some(dead) = sites.get(&breakpoint) {
                    overwrite(&mut session, event.tid, *dead, random);
                    counted[0] += 1;
                    counted[1] += u64::from(dead.registers.bits().count_ones());
                    counted[2] += u64::from(dead.flags.bits().count_ones());
                }
                let hits = hits.entry((event.pid, breakpoint)).or_default();
                *hits += 1;
                if *hits == HITS {
                    session.remove(event.pid, &[breakpoint]).expect("the breakpoint is there");
                }
            }
            EventKind::Forked { child } => session.resume(child.leader()).expect("the child is held"),
            _ if !event.is_held() => continue,
            _ => {}
        }
        if library_of.is_none() {
            if let Some((base, path)) = mapped(pid) {
                let library = library(&path);
                sites = insert(&mut session, pid, base, &library, random);
                library_of = Some(library);
            }
        }
        session.resume(event.tid).expect("the thread is held");
    }
    (reader.join().expect("the reader").expect("the output"), counted)
}

/// Sets breakpoints where something is dead.
fn insert(
    session: &mut Session,
    pid: ubp::Pid,
    base: u64,
    library: &Library,
    random: &mut Random,
) -> HashMap<ubp::BreakpointId, Dead> {
    let mode = Mode::AMD_64.lenient();
    let chosen = (0..SITES).map(|_| random.one_of(&library.instructions));
    let told = chosen.map(|at| (at, dead(&library.code, (at - library.start) as usize, mode)));
    let told: Vec<(u64, Dead)> = told.filter(|(_, dead)| *dead != Dead::default()).collect();
    let specs: Vec<Spec> = told.iter().map(|(at, _)| Spec::event(Address(base + at))).collect();
    let outcomes = session.insert(pid, &specs).expect("the process lives");
    told.into_iter().zip(outcomes).filter_map(|((_, dead), outcome)| Some((outcome.ok()?, dead))).collect()
}

#[test]
fn what_is_called_dead_does_not_matter_to_programs() {
    let words = "/usr/share/common-licenses/GPL-3";
    let programs: [&[&str]; 4] = [
        &["/usr/bin/sort", words],
        &["/bin/sed", "s/free/FREE/g", words],
        &["/usr/bin/sha256sum", words],
        &["/bin/bash", "-c", "for word in $(cat /usr/share/common-licenses/BSD); do echo ${#word} $word; done"],
    ];
    let mut random = Random::new(11);
    for arguments in programs {
        let undisturbed = std::process::Command::new(arguments[0]).args(&arguments[1..]).output().expect("it runs");
        let (output, [hits, registers, flags]) = disturbed(arguments, &mut random);
        println!("{}: {hits} hits, {registers} registers and {flags} flags overwritten", arguments[0]);
        assert!(hits > 10 && registers + flags > hits, "{hits} hits");
        assert_eq!(String::from_utf8_lossy(&output), String::from_utf8_lossy(&undisturbed.stdout), "{arguments:?}");
    }
}
