//! The modules of a process: their bias, their build IDs, and the events that name them.

mod common;

use std::path::Path;
use std::process::Command;

use common::{build, piped, run, session, start, symbols};
use ubp::{EventKind, Module, Pid, Session, Spec};

/// The build ID of a file, by readelf.
fn build_id(path: &Path) -> String {
    let output = Command::new("readelf").args(["--notes", "--wide"]).arg(path).output().expect("readelf is needed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("Build ID: ")).expect("a build ID");
    line.1.trim().to_string()
}

fn told(module: &Module) -> Option<String> {
    module.build_id.as_ref().map(ToString::to_string)
}

/// The flag with which the linker writes this build ID.
fn id(digits: &str) -> String {
    format!("-Wl,--build-id=0x{digits}")
}

fn module<'a>(modules: &'a [Module], path: &Path) -> &'a Module {
    modules.iter().find(|module| module.path == path).unwrap_or_else(|| panic!("no {} in {modules:#?}", path.display()))
}

/// Checks the modules of a process that has its libraries against the files.
fn check(session: &mut Session, pid: Pid, program: &Path) {
    let modules = session.modules(pid).unwrap();
    assert!(modules.is_sorted_by_key(|module| module.start));
    for module in modules.iter().filter(|module| module.path.is_absolute()) {
        assert_eq!(told(module), Some(build_id(&module.path)), "{module:?}");
    }
    let maps = session.process(pid).unwrap().maps().unwrap();
    let code = maps.iter().filter(|map| map.execute && map.path.as_deref().is_some_and(Path::is_absolute));
    for map in code {
        let holder = modules.iter().find(|module| module.contains(map.start)).unwrap_or_else(|| panic!("{map:?}"));
        assert_eq!((holder.device, holder.inode), (map.device, map.inode));
        assert!(holder.start <= map.start && map.end <= holder.end);
    }
    let own = module(&modules, program);
    let entry = session.process(pid).unwrap().auxv().entry().unwrap();
    assert_eq!(own.in_memory(own.in_file(entry)), entry);
    assert_eq!(own.in_file(entry), symbols(program)["_start"]);
    assert_eq!(session.bias(pid, program).unwrap(), Some(own.bias));
    assert_eq!(session.bias(pid, "/no/such/file").unwrap(), None);
    // The vDSO is an ELF file that lies nowhere but in memory.
    let vdso = module(&modules, Path::new("[vdso]"));
    let mut image = vec![0; (vdso.end - vdso.start) as usize];
    session.read_memory(pid, vdso.start, &mut image).unwrap();
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("vdso-{}.so", pid));
    std::fs::write(&copy, image).unwrap();
    assert_eq!(told(vdso), Some(build_id(&copy)));
    std::fs::remove_file(&copy).unwrap();
}

#[test]
fn every_module_of_a_program_has_the_build_id_of_its_file_and_the_bias_of_its_symbols() {
    for flags in [&["-pie"][..], &["-no-pie"], &["-Wl,-z,noseparate-code"], &["-static"]] {
        let program = build("loop", flags);
        let mut session = session();
        let pid = session.spawn(piped(&program, &["1"])).unwrap();
        let modules = session.modules(pid).unwrap();
        let work = module(&modules, &program).in_memory(symbols(&program)["work"]);
        session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let mut checked = 0;
        run(&mut session, pid, |session, event| {
            if let EventKind::Hit { .. } = event.kind {
                check(session, pid, &program);
                checked += 1;
            }
        });
        assert_eq!(checked, 1, "{flags:?}");
    }
}

#[test]
fn a_program_that_was_replaced_after_it_began_keeps_the_build_id_of_the_file_that_runs() {
    let (old, new) = (build("loop", &[&id("aa01aa01")]), build("loop", &[&id("bb02bb02")]));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replaced-{}", std::process::id()));
    // A process that another test makes meanwhile would have the copy's descriptor, and nobody executes a file that is open for writing.
    assert!(Command::new("cp").args([&old, &place]).status().unwrap().success());
    let mut session = session();
    let pid = session.spawn(piped(&place, &["1"])).unwrap();
    let beside = place.with_extension("new");
    std::fs::copy(&new, &beside).unwrap();
    std::fs::rename(&beside, &place).unwrap();
    let modules = session.modules(pid).unwrap();
    let own = module(&modules, &place);
    assert_eq!((told(own).as_deref(), own.deleted), (Some("aa01aa01"), true));
    assert_eq!(build_id(&place), "bb02bb02");
    session.resume(pid.leader()).unwrap();
    run(&mut session, pid, |_, _| ());
    std::fs::remove_file(&place).unwrap();
    assert!(matches!(session.modules(pid), Err(ubp::Error::NoSuchProcess(gone)) if gone == pid));
}

#[test]
fn the_loader_names_each_library_that_it_maps_and_unmaps() {
    let library = build("plugin", &["-shared", "-fPIC", &id("c0ffee00")]);
    let program = build("code", &["-ldl"]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &["load", library.to_str().unwrap()])).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut changes = Vec::new();
    let mut before = session.modules(pid).unwrap();
    run(&mut session, pid, |session, event| {
        let (list, came) = match &event.kind {
            EventKind::Loaded(modules) => (modules, true),
            EventKind::Unloaded(modules) => (modules, false),
            _ => return,
        };
        assert!(!list.is_empty());
        let now = session.modules(pid).unwrap();
        for module in list {
            // What an event names is mapped from then on, or was until then.
            assert!(if came { now.contains(module) } else { before.contains(module) && !now.contains(module) });
            if module.path == library {
                assert_eq!(told(module).as_deref(), Some("c0ffee00"));
                changes.push(came);
            }
        }
        before = now;
    });
    assert_eq!(changes, [true, false, true, false, true, false]);
}

#[test]
fn a_library_that_was_mapped_before_the_attach_is_named_when_it_goes_and_not_when_another_comes() {
    let library = build("plugin", &["-shared", "-fPIC", &id("c0ffee00")]);
    let program = build("code", &["-ldl"]);
    let (mut child, mut out) = start(&program, &["reload", library.to_str().unwrap()]);
    assert_eq!(common::line(&mut out), "mapped\n");
    let mut session = session();
    let pid = session.attach(Pid(child.id() as i32)).unwrap();
    drop(child.stdin.take());
    let mut told = Vec::new();
    run(&mut session, pid, |_, event| {
        let (list, came) = match &event.kind {
            EventKind::Loaded(modules) => (modules, true),
            EventKind::Unloaded(modules) => (modules, false),
            _ => return,
        };
        told.extend(list.iter().map(|module| (came, module.path == library)));
    });
    assert_eq!(told, [(false, true), (true, true), (false, true)]);
}
