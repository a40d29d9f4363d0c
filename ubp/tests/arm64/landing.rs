//! Landing pads (BTI).

use ubp::{Address, EventKind, Session, Spec};

use crate::common::*;

#[test]
fn a_branch_beside_a_landing_pad_faults_at_a_site_in_a_guarded_page_and_nowhere_else() {
    let program = build("arm64/landing", &[]);
    let plain = undisturbed(&program, &[]);
    let mut session = Session::new().unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let made = symbol(&session, pid, "made");
    session.insert(pid, &[Spec::event(made)]).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) => {
            let registers = session.registers(event.tid).unwrap();
            let pages = machine::ARGUMENTS.map(|argument| registers.get(argument).unwrap());
            let sites =
                pages.into_iter().flat_map(|page| (0..4).map(move |word| Spec::count(Address(page + 4 * word))));
            for answer in session.insert(pid, &sites.collect::<Vec<_>>()).unwrap() {
                answer.unwrap();
            }
        }
        EventKind::Exited(_) => hits = session.breakpoints(pid).skip(1).map(|breakpoint| breakpoint.hits()).collect(),
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    // Branches that fault reach the site, but not the next instruction.
    let faults = outcome.text().lines().filter(|line| line.contains("caught 1")).count();
    let guarded = outcome.text().contains("guarded 1");
    assert_eq!(faults, if guarded { 2 } else { 0 });
    assert_eq!(hits[..4], if guarded { [1, 2, 2, 1] } else { [1, 2, 3, 3] });
    assert_eq!(hits[4..], [1, 2, 3, 3]);
}
