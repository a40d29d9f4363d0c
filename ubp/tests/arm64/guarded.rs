//! Code that the loader guards after it was mapped (BTI).

use ubp::{Address, BreakpointId, EventKind, Patch, Pid, Session, Spec};

use crate::common::*;

/// Each instruction of a function of four.
fn insert(session: &mut Session, pid: Pid, function: u64, patch: Patch) -> Vec<BreakpointId> {
    let specs: Vec<Spec> = (0..4).map(|word| Spec::count(Address(function + 4 * word)).patch(patch)).collect();
    session.insert(pid, &specs).unwrap().into_iter().map(|answer| answer.unwrap()).collect()
}

/// Differences between an undisturbed run and one with a site on each instruction of the library's function and, `with_own`, of the
/// program's, set before the loader guards them.
fn case(mut session: Session, with_own: bool, patch: Patch) {
    let flags = ["-nostartfiles", "-mbranch-protection=bti", "-Wl,-z,force-bti"];
    let library = build("arm64/guarded", &[&flags[..], &["-shared", "-fPIC", "-DLIBRARY"]].concat());
    let program = build("arm64/guarded", &[&flags[..], &[library.to_str().unwrap()]].concat());
    let plain = undisturbed(&program, &[]);
    let text = String::from_utf8_lossy(&plain.stdout);
    let is_guarded = text.contains("caught 2");
    assert_eq!(text.lines().count(), 2, "{text}");

    let pid = session.spawn(piped(&program, &[])).unwrap();
    let mut ids = Vec::new();
    if with_own {
        let own = symbol(&session, pid, "own");
        ids.extend(insert(&mut session, pid, own.0, patch));
    }
    session.resume(pid.leader()).unwrap();
    let function = symbols(&library)["library"];
    let (mut is_set, mut hits) = (false, Vec::new());
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Loaded(_) if !is_set => {
            let maps = session.process(pid).unwrap().maps().unwrap();
            let code = |map: &&ubp::Mapping| map.path.as_deref() == Some(&library);
            let Some(map) = maps.iter().find(code) else { return };
            ids.extend(insert(session, pid, map.start.0 - map.offset + function, patch));
            is_set = true;
        }
        EventKind::Exited(_) => hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect(),
        _ => {}
    });
    assert_eq!(outcome.text(), text);
    // The instruction after the landing pad is hit even if it faults.
    let each = if is_guarded { [3, 4, 3, 3] } else { [3, 4, 4, 4] };
    assert_eq!(hits, each.repeat(ids.len() / 4));
    assert!(is_set);
}

#[test]
fn sites_that_are_set_before_the_loader_guards_their_pages_stay_and_keep_its_faults() {
    case(Session::new().unwrap(), true, Patch::Trap);
}

#[test]
fn jumps_that_are_set_before_the_loader_guards_their_pages_count_on_and_keep_its_faults() {
    for with_own in [true, false] {
        case(Session::new().unwrap(), with_own, Patch::Auto);
    }
}

#[test]
fn those_of_a_library_do_by_whatever_back_end_there_is() {
    case(session(), false, Patch::Trap);
}
