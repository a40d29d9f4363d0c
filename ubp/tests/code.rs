//! Code in anonymous, shared, writable and kernel-provided memory, and in libraries that are loaded and unloaded.

mod common;

use common::*;
use ubp::{Address, EventKind, InsertReason, Method, Session, Spec};

/// Runs one case of code.c. When it calls `made(code, size)`, `at_made` inserts breakpoints.
fn case(name: &str, mut at_made: impl FnMut(&mut Session, ubp::Pid, Address), expected_hits: u64) {
    let program = build("code", &[]);
    let plain = undisturbed(&program, &[name]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &[name])).unwrap();
    let made = symbol(&session, pid, "made");
    let ids = session.insert(pid, &[Spec::event(made)]).unwrap();
    let made = ids[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(ref hit) if hit.id() == made => {
            let code = session.registers(event.tid).unwrap().get(machine::ARGUMENTS[0]).unwrap();
            at_made(session, pid, Address(code));
        }
        EventKind::Exited(_) => hits = session.breakpoints(pid).filter(|b| b.id() != made).map(|b| b.hits()).sum(),
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    assert_eq!(exit_of(&outcome), EventKind::Exited(0));
    assert_eq!(hits, expected_hits);
}

/// Breakpoints on both instructions of the code, and on nothing else.
fn both(session: &mut Session, pid: ubp::Pid, code: Address) {
    for answer in session.insert(pid, &[Spec::count(code), Spec::count(code + machine::ADD.1)]).unwrap() {
        answer.unwrap();
    }
    let mut bytes = vec![0; machine::ADD.0.len()];
    session.read_memory(pid, code, &mut bytes).unwrap();
    assert_eq!(bytes, machine::ADD.0, "our bytes are not shown");
}

#[test]
fn made_code_is_counted() {
    case("jit", both, 4);
}

#[test]
fn what_takes_the_place_of_made_code_is_left_alone_when_its_breakpoints_are_removed() {
    let program = build("code", &[]);
    let plain = undisturbed(&program, &["jit"]);
    for insert_anew in [false, true] {
        let mut session = session();
        let pid = session.spawn(piped(&program, &["jit"])).unwrap();
        let [made, done] = ["made", "done"].map(|name| Spec::event(symbol(&session, pid, name)));
        let made = session.insert(pid, &[made, done]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let (mut code, mut ids) = (Address(0), Vec::new());
        let outcome = run(&mut session, pid, |session, event| match event.kind {
            EventKind::Hit(ref hit) if hit.id() == made => {
                code = Address(session.registers(event.tid).unwrap().get(machine::ARGUMENTS[0]).unwrap());
                let specs = [Spec::count(code), Spec::count(code + machine::ADD.1)];
                ids = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
            }
            EventKind::Hit(_) => {
                // Another mapping with other code is there now.
                if insert_anew {
                    let new = session.insert(pid, &[Spec::count(code)]).unwrap()[0].unwrap();
                    let active = [ids[0], new].map(|id| session.breakpoint(pid, id).unwrap().is_active());
                    assert_eq!(active, [false, true]);
                    session.remove(pid, &[new]).unwrap();
                }
                session.remove(pid, &ids).unwrap();
            }
            _ => {}
        });
        assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout), "inserted anew: {insert_anew}");
    }
}

#[test]
fn code_in_shared_memory_is_counted() {
    case("shared", both, 2);
}

#[test]
fn anonymous_read_only_code_is_counted() {
    case("read_only", both, 2);
}

#[test]
fn it_is_told_how_code_is_passed_before_which_nothing_is_mapped() {
    let insert = |session: &mut Session, pid, code: Address| {
        both(session, pid, code);
        let first = session.breakpoints(pid).find(|breakpoint| breakpoint.address() == code).unwrap();
        assert_eq!(first.method(), Method::Boosted);
    };
    case("alone", insert, 2);
}

/// On x86 over ptrace slots must be within reach.
#[test]
fn code_that_no_storage_reaches_is_counted_or_refused_by_name() {
    let is_refused = cfg!(target_arch = "x86_64") && !std::path::Path::new("/dev/ntrace").exists();
    let insert = |session: &mut Session, pid, code: Address| {
        if !is_refused {
            both(session, pid, code);
            let first = session.breakpoints(pid).find(|breakpoint| breakpoint.address() == code).unwrap();
            // There is room for a jump to an address on x86.
            let expected = if cfg!(target_arch = "x86_64") { Method::Boosted } else { Method::Trapped };
            return assert_eq!(first.method(), expected);
        }
        for answer in session.insert(pid, &[Spec::count(code), Spec::count(code + machine::ADD.1)]).unwrap() {
            assert_eq!(answer.unwrap_err().reason, InsertReason::NoRoom);
        }
    };
    case("far", insert, if is_refused { 0 } else { 2 });
}

#[test]
fn calls_of_a_function_of_the_vdso_are_counted() {
    let insert = |session: &mut Session, pid, base: Address| {
        // The entry of clock_gettime, by its dynamic symbol.
        let map = session.process(pid).unwrap().maps().unwrap();
        let vdso = map.iter().find(|map| map.contains(base)).unwrap();
        let mut image = vec![0; (vdso.end - vdso.start) as usize];
        session.read_memory(pid, base, &mut image).unwrap();
        let copy = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("vdso.so");
        std::fs::write(&copy, &image).unwrap();
        let output = std::process::Command::new("nm").arg("-D").arg(&copy).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.split_whitespace().last() == Some(machine::CLOCK)).unwrap();
        let entry = u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap();
        session.insert(pid, &[Spec::count(base + entry)]).unwrap()[0].unwrap();
    };
    case("vdso", insert, 100);
}

#[test]
fn a_library_is_reported_before_its_constructors_run_each_time_it_is_loaded() {
    let program = build("code", &["-ldl"]);
    let library = build("plugin", &["-shared", "-fPIC"]);
    let path = library.to_str().unwrap();
    let plain = undisturbed(&program, &["load", path]);
    assert_eq!(plain.stdout, b"plugin 81\nplugin 82\nplugin 83\n");
    let plugged = symbols(&library)["plugged"];
    let mut session = session();
    let pid = session.spawn(piped(&program, &["load", path])).unwrap();
    session.resume(pid.leader()).unwrap();
    let (mut loads, mut ids) = (0, Vec::new());
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Loaded(_) => {
            let maps = session.process(pid).unwrap().maps().unwrap();
            let Some(map) = maps.iter().find(|map| map.path.as_deref() == Some(&library)) else { return };
            let at = Address(map.start.0 - map.offset + plugged);
            let id = session.insert(pid, &[Spec::count(at)]).unwrap()[0].unwrap();
            if !ids.contains(&id) {
                loads += 1;
                ids.push(id);
            }
        }
        EventKind::Exited(_) => {
            let hits: Vec<u64> = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
            assert_eq!(hits, [3, 3, 3], "constructor and two calls");
        }
        _ => {}
    });
    assert_eq!(loads, 3);
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
}

#[test]
fn libraries_of_the_program_are_reported_before_any_of_their_code_runs() {
    let library = build("plugin", &["-shared", "-fPIC"]);
    let name = format!("-l:{}", library.file_name().unwrap().to_str().unwrap());
    let directory = library.parent().unwrap().to_str().unwrap();
    let flags = ["-Wl,--no-as-needed", &format!("-L{directory}"), &name, &format!("-Wl,-rpath,{directory}")];
    let program = build("loop", &flags);
    let plugged = symbols(&library)["plugged"];
    let mut session = session();
    let pid = session.spawn(piped(&program, &["5"])).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut id = None;
    run(&mut session, pid, |session, event| match event.kind {
        EventKind::Loaded(_) if id.is_none() => {
            let maps = session.process(pid).unwrap().maps().unwrap();
            let found = maps.iter().find(|map| map.execute && map.path.as_deref() == Some(&library));
            if let Some(map) = found {
                let first = maps.iter().find(|map| map.path.as_deref() == Some(&library)).unwrap();
                assert!(first.start <= map.start);
                id = Some(session.insert(pid, &[Spec::count(Address(first.start.0 + plugged))]).unwrap()[0].unwrap());
            }
        }
        EventKind::Exited(_) => assert_eq!(session.breakpoint(pid, id.unwrap()).unwrap().hits(), 1, "the constructor"),
        _ => {}
    });
    assert!(id.is_some());
}

#[test]
fn what_cannot_carry_a_breakpoint_is_refused_with_address_and_reason() {
    let program = build("loop", &[]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &["5"])).unwrap();
    let maps = session.process(pid).unwrap().maps().unwrap();
    let data = maps.iter().find(|map| !map.execute && map.read).unwrap().start;
    let vsyscall = Address(0xffff_ffff_ff60_0000);
    let work = symbol(&session, pid, "work");
    let addresses = [Address(0x10), data, vsyscall, work];
    let specs = addresses.map(Spec::count);
    let answers = session.insert(pid, &specs).unwrap();
    let reasons: Vec<_> = answers.iter().map(|answer| answer.err().map(|error| error.reason)).collect();
    let expected =
        if maps.iter().any(|map| map.contains(vsyscall)) { InsertReason::NotWritable } else { InsertReason::NotMapped };
    assert_eq!(reasons, [Some(InsertReason::NotMapped), Some(InsertReason::NotExecutable), Some(expected), None]);
    assert_eq!(answers[0].unwrap_err().address, Address(0x10));
}
