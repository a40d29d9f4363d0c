//! Sites out of reach of all free memory.

use ubp::{Address, EventKind, Method, Session, Spec};

use crate::common::*;

#[test]
fn a_site_with_no_room_within_reach_is_passed_by_a_copy_with_a_trap() {
    let program = build("arm64/far", &[]);
    let plain = undisturbed(&program, &[]);
    let mut session = Session::new().unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let made = symbol(&session, pid, "made");
    session.insert(pid, &[Spec::event(made)]).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut seen = Vec::new();
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) => {
            let page = session.registers(event.tid).unwrap().get(machine::ARGUMENTS[0]).unwrap();
            let specs: Vec<Spec> = (0..9).map(|word| Spec::count(Address(page + 4 * word))).collect();
            for answer in session.insert(pid, &specs).unwrap() {
                answer.unwrap();
            }
        }
        EventKind::Exited(_) => seen = session.breakpoints(pid).skip(1).map(|b| (b.method(), b.hits())).collect(),
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    use Method::{Emulated, Trapped};
    let methods = [Trapped, Emulated, Trapped, Emulated, Trapped, Trapped, Emulated, Trapped, Emulated];
    assert_eq!(seen, methods.map(|method| (method, 10)));
}
