//! Jumps through the life of processes: forks, programs that are executed, libraries that go, detaching.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ubp::{Address, BreakpointId, EventKind, Method, NoJump, Patch, Pid, Session, Spec};

use crate::common::*;
use crate::{KINDS, auto, by_ptrace, end_of, jump};

#[test]
fn processes_that_a_program_makes_are_counted_as_by_traps() {
    for case in ["fork", "vfork", "spawn", "clone", "threads"] {
        let program = build("forks", &[]);
        for kind in KINDS {
            let count = |patch| {
                let mut session = by_ptrace();
                let pid = session.spawn(piped(&program, &[case])).unwrap();
                let site = symbol(&session, pid, "work");
                let id = session.insert(pid, &[kind(site).patch(patch)]).unwrap()[0].unwrap();
                let jumped = session.breakpoint(pid, id).unwrap().method() == Method::Jumped;
                assert_eq!(jumped, patch == Patch::Jump);
                session.resume(pid.leader()).unwrap();
                let mut counts = Vec::new();
                let outcome = run(&mut session, pid, |session, event| match event.kind {
                    EventKind::Exited(_) | EventKind::Exec => {
                        counts.push(session.breakpoint(event.pid, id).map_or((0, 0), |b| (b.hits(), b.arrivals())));
                    }
                    _ => {}
                });
                counts.sort_unstable();
                (counts, outcome.text().to_string())
            };
            let (by_traps, by_jumps) = (count(Patch::Trap), count(Patch::Jump));
            assert!(by_traps.0.iter().any(|(_, arrivals)| *arrivals > 0), "{case}");
            assert_eq!(by_traps, by_jumps, "{case}");
        }
    }
}

#[test]
fn where_children_are_not_followed_there_are_no_jumps() {
    let program = build("forks", &[]);
    let mut options = ubp::Options::default();
    (options.signals, options.follow_forks) = (false, false);
    let mut session = Session::with_options(options).unwrap();
    let pid = session.spawn(piped(&program, &["fork"])).unwrap();
    let site = symbol(&session, pid, "work");
    let id = session.insert(pid, &[Spec::count(site).patch(Patch::Auto)]).unwrap()[0].unwrap();
    assert_eq!(session.breakpoint(pid, id).unwrap().no_jump(), Some(NoJump::Unfollowed));
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(event.pid, id).unwrap().hits();
        }
    });
    assert_eq!(hits, 5, "the calls before the first fork");
    assert_eq!(outcome.output, undisturbed(&program, &["fork"]).stdout);
}

#[test]
fn threads_run_while_jumps_come_and_go() {
    let program = build("killed", &[]);
    let (child, mut out) = start(&program, &[]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    let base = load_address(&session, pid);
    let sites = ["work", "leaf"].iter().flat_map(|name| instructions(&program, name));
    let specs: Vec<Spec> =
        sites.zip(KINDS.iter().cycle()).map(|(at, kind)| kind(Address(base + at)).patch(Patch::Jump)).collect();
    let leaf = jump(symbol(&session, pid, "leaf"));
    let lasting = session.insert(pid, &[leaf]).unwrap()[0].unwrap();
    let mut hits = 0;
    for round in 0..10 {
        let ids: Vec<BreakpointId> = session.insert(pid, &specs).unwrap().into_iter().flatten().collect();
        assert!(ids.len() > 1, "round {round}");
        while session.breakpoint(pid, lasting).unwrap().hits() < hits + 100 {
            if let Some(event) = session.poll().unwrap() {
                session.resume(event.tid).unwrap();
            }
        }
        hits = session.breakpoint(pid, lasting).unwrap().hits();
        session.remove(pid, &ids).unwrap();
    }
    session.detach(pid).unwrap();
    assert_eq!(end_of(child, out), "wrong 0 traps 0\n");
}

#[test]
fn a_stop_shows_no_pc_of_the_tracers() {
    let program = build("killed", &[]);
    let (child, mut out) = start(&program, &[]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    session.stop(pid).unwrap();
    let before = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let base = load_address(&session, pid);
    let sites = ["work", "leaf"].iter().flat_map(|name| instructions(&program, name));
    let specs: Vec<Spec> = sites.map(|at| auto(Spec::count(Address(base + at)))).collect();
    session.insert(pid, &specs).unwrap();
    let is_mapped = |pc: u64| {
        before.lines().any(|line| {
            let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            (number(start)..number(end)).contains(&pc)
        })
    };
    let count = |session: &Session| session.breakpoints(pid).map(|breakpoint| breakpoint.hits()).sum::<u64>();
    let mut counted = count(&session);
    for round in 0..100 {
        let threads: Vec<_> = session.process(pid).unwrap().threads().collect();
        for tid in &threads {
            let pc = session.registers(*tid).unwrap().pc();
            assert!(is_mapped(pc.0), "round {round}: {pc}");
        }
        for tid in threads {
            session.resume(tid).unwrap();
        }
        while count(&session) == counted {
            while let Some(event) = session.poll().unwrap() {
                if event.is_held() {
                    session.resume(event.tid).unwrap();
                }
            }
        }
        session.stop(pid).unwrap();
        counted = count(&session);
    }
    session.detach(pid).unwrap();
    assert_eq!(end_of(child, out), "wrong 0 traps 0\n");
}

/// The code of functions as memory has it, and as the file does.
pub(crate) fn code(program: &Path, pid: Pid, functions: &[&str]) -> BTreeMap<String, (Vec<u8>, Vec<u8>)> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let first = maps.lines().find(|line| line.ends_with(program.to_str().unwrap())).expect("the program runs");
    let base = u64::from_str_radix(first.split_once('-').unwrap().0, 16).unwrap();
    let file = std::fs::File::open(program).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let read = |name: &&str| {
        let all = instructions(program, name);
        let length = (all[all.len() - 1] - all[0]) as usize + 1;
        let (mut own, mut there) = (vec![0; length], vec![0; length]);
        file.read_exact_at(&mut own, all[0]).unwrap();
        memory.read_exact_at(&mut there, base + all[0]).unwrap();
        (name.to_string(), (there, own))
    };
    functions.iter().map(read).collect()
}

#[test]
fn a_detach_leaves_the_bytes_of_the_file_and_no_mapping() {
    let program = build("killed", &[]);
    let (child, mut out) = start(&program, &[]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    let before = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines().count();
    let mut session = by_ptrace();
    session.attach(pid).unwrap();
    let base = load_address(&session, pid);
    let sites = ["work", "leaf"].iter().flat_map(|name| instructions(&program, name));
    let specs: Vec<Spec> = sites.zip(KINDS.iter().cycle()).map(|(at, kind)| auto(kind(Address(base + at)))).collect();
    session.insert(pid, &specs).unwrap();
    let jumps: Vec<BreakpointId> =
        session.breakpoints(pid).filter(|b| b.method() == Method::Jumped).map(|b| b.id()).collect();
    assert!(!jumps.is_empty());
    // All of it is hidden from who reads memory and maps by the session.
    for id in &jumps {
        let address = session.breakpoint(pid, *id).unwrap().address();
        let (mut read, mut own) = ([0; 4], [0; 4]);
        session.read_memory(pid, address, &mut read).unwrap();
        std::fs::File::open(&program).unwrap().read_exact_at(&mut own, address.0 - base).unwrap();
        assert_eq!(read, own);
    }
    assert!(session.process(pid).unwrap().maps().unwrap().len() <= before);
    while jumps.iter().map(|id| session.breakpoint(pid, *id).unwrap().arrivals()).min().unwrap() < 100 {
        session.take_records();
        if let Some(event) = session.poll().unwrap() {
            session.resume(event.tid).unwrap();
        }
    }
    session.detach(pid).unwrap();
    assert!(code(&program, pid, &["work", "leaf"]).values().all(|(there, own)| there == own));
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert_eq!(maps.lines().count(), before, "{maps}");
    assert_eq!(end_of(child, out), "wrong 0 traps 0\n");
}

#[test]
fn what_is_no_mere_count_has_no_jump_and_says_why() {
    let (mut session, pid, work) = {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(&build("loop", &[]), &["20"])).unwrap();
        let work = symbol(&session, pid, "work");
        (session, pid, work)
    };
    let first = ubp::Operand::Arrivals.is(ubp::Comparison::Equal, 1);
    let cases = [
        (auto(Spec::event(work)), NoJump::Event),
        (auto(Spec::count(work)).when(first), NoJump::Arrivals),
        (auto(Spec::count(work)).once(), NoJump::Once),
        (auto(Spec::count(work)).thread(pid.leader()), NoJump::OneThread),
        (Spec::count(work), NoJump::Asked),
    ];
    for (spec, reason) in cases {
        let id = session.insert(pid, &[spec]).unwrap()[0].unwrap();
        assert_eq!(session.breakpoint(pid, id).unwrap().no_jump(), Some(reason));
        session.remove(pid, &[id]).unwrap();
    }
    // An event at the site of a jump, or in its bytes, makes it a breakpoint instruction; the count goes on.
    let counted = session.insert(pid, &[jump(work)]).unwrap()[0].unwrap();
    let event = session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    assert_ne!(session.breakpoint(pid, counted).unwrap().method(), Method::Jumped);
    session.resume(pid.leader()).unwrap();
    let (mut seen, mut hits) = (0, 0);
    run(&mut session, pid, |session, told| match &told.kind {
        EventKind::Hit(hit) if hit.is_of(event) => seen += 1,
        EventKind::Exited(_) => hits = session.breakpoint(pid, counted).unwrap().hits(),
        _ => {}
    });
    assert_eq!((seen, hits), (20, 20));
}

#[test]
fn a_library_takes_its_jumps_along_each_time_it_goes() {
    let library = build("plugin", &["-shared", "-fPIC"]);
    let program = build("code", &["-ldl"]);
    let args = ["load", library.to_str().unwrap()];
    let mut session = by_ptrace();
    let pid = session.spawn(piped(&program, &args)).unwrap();
    let plugged = symbols(&library)["plugged"];
    session.resume(pid.leader()).unwrap();
    let (mut ids, mut hits) = (Vec::new(), Vec::new());
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Loaded(_) => {
            let Some(bias) = session.bias(pid, &library).unwrap() else { return };
            let id = session.insert(pid, &[jump(Address(bias + plugged))]).unwrap()[0].unwrap();
            ids.push(id);
        }
        EventKind::Exited(_) => {
            hits =
                ids.iter().map(|id| session.breakpoint(pid, *id).unwrap()).map(|b| (b.hits(), b.is_active())).collect();
        }
        _ => {}
    });
    assert_eq!(outcome.output, undisturbed(&program, &args).stdout);
    // The constructor calls it once, `plugin` twice.
    assert_eq!(hits, [(3, false); 3]);
}

/// The address of the C library's `munmap` in a process.
fn munmap_of(session: &Session, pid: Pid) -> Address {
    let maps = session.process(pid).unwrap().maps().unwrap();
    let is_libc = |path: &&std::path::PathBuf| path.to_string_lossy().contains("libc.so");
    let path = maps.iter().filter_map(|map| map.path.as_ref()).find(is_libc).expect("a C library");
    let output = std::process::Command::new("nm").arg("-D").arg(path).output().expect("nm is needed");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.contains(" munmap@@")).expect("a symbol");
    Address(session.bias(pid, path).unwrap().unwrap() + u64::from_str_radix(&line[..16], 16).unwrap())
}

/// What the program unmaps without its dynamic linker is told to nobody.
#[test]
fn jumps_whose_memory_is_gone_hold_up_no_other() {
    let (library, program) = (build("plugin", &["-shared", "-fPIC"]), build("killed", &[]));
    let stdin = std::process::Stdio::piped();
    let mut child = piped(&program, &[]).stdin(stdin).env("LD_PRELOAD", &library).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    assert_eq!(line(&mut out), "ready\n");
    let mut session = by_ptrace();
    let pid = session.attach(Pid(child.id() as i32)).unwrap();
    session.stop(pid).unwrap();
    let bias = session.bias(pid, &library).unwrap().unwrap();
    let gone = instructions(&library, "plugged").into_iter().map(|at| auto(Spec::count(Address(bias + at))));
    let ids: Vec<BreakpointId> =
        session.insert(pid, &gone.collect::<Vec<_>>()).unwrap().into_iter().flatten().collect();
    let is_jumped = |id: &BreakpointId| session.breakpoint(pid, *id).unwrap().method() == Method::Jumped;
    assert!(ids.iter().filter(|id| is_jumped(id)).count() > 1, "a jump counts several instructions");
    let work = symbol(&session, pid, "work");
    session.insert(pid, &[jump(work)]).unwrap()[0].unwrap();
    let munmap = munmap_of(&session, pid);
    for map in session.process(pid).unwrap().maps().unwrap().iter().filter(|map| map.path.as_ref() == Some(&library)) {
        assert_eq!(session.call(pid.leader(), munmap, &[map.start.0, map.end.0 - map.start.0]).unwrap(), 0);
    }
    session.detach(pid).unwrap();
    assert!(code(&program, pid, &["work"]).values().all(|(there, own)| there == own));
    // Its end would call the library.
    child.kill().unwrap();
    child.wait().unwrap();
}
