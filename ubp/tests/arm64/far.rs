//! Sites out of reach of all free memory.

use ubp::arch::Refusal;
use ubp::{Address, EventKind, InsertReason, Method, Session, Spec};

use crate::common::*;

/// The load-exclusive among the words of the code, all of which are instructions.
const EXCLUSIVE: u64 = 14;
const WORDS: u64 = 19;

fn all_but_the_exclusive_are_passed(mut session: Session) {
    let program = build("arm64/far", &[]);
    let plain = undisturbed(&program, &[]);
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let made = symbol(&session, pid, "made");
    session.insert(pid, &[Spec::event(made)]).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut seen = Vec::new();
    let outcome = run(&mut session, pid, |session, event| match event.kind {
        EventKind::Hit(_) => {
            let page = session.registers(event.tid).unwrap().get(machine::ARGUMENTS[0]).unwrap();
            let before = session.process(pid).unwrap().maps().unwrap();
            let specs: Vec<Spec> = (0..WORDS).map(|word| Spec::count(Address(page + 4 * word))).collect();
            for (word, answer) in (0..).zip(session.insert(pid, &specs).unwrap()) {
                if word == EXCLUSIVE {
                    assert_eq!(answer.unwrap_err().reason, InsertReason::Refused(Refusal::ExclusiveOutOfReach));
                } else {
                    answer.unwrap();
                }
            }
            assert_eq!(session.process(pid).unwrap().maps().unwrap(), before, "storage is shown");
        }
        EventKind::Exited(_) => seen = session.breakpoints(pid).skip(1).map(|b| (b.method(), b.hits())).collect(),
        _ => {}
    });
    assert_eq!(outcome.text(), String::from_utf8_lossy(&plain.stdout));
    let emulated = [1, 3, 6, 8, 10, 12, 13, 16, 18];
    let method = |word| if emulated.contains(&word) { Method::Emulated } else { Method::Trapped };
    let expected: Vec<_> = (0..WORDS).filter(|word| *word != EXCLUSIVE).map(|word| (method(word), 10)).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_site_with_no_room_within_reach_is_passed_by_a_copy_with_a_trap() {
    all_but_the_exclusive_are_passed(session());
}

#[test]
fn by_ptrace_it_is_too() {
    all_but_the_exclusive_are_passed(Session::new().unwrap());
}
