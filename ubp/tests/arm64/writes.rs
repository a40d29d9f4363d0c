//! Writes to parts of instructions, and misaligned sites.

use ubp::{EventKind, InsertReason, Method, Spec};

use crate::common::*;

#[test]
fn a_write_that_begins_inside_of_a_site_changes_what_is_executed_there() {
    let (mut session, pid, work) = at_work_by_ptrace(&["6"]);
    session.write_memory(pid, work, machine::FIVE).unwrap();
    let id = session.insert(pid, &[Spec::count(work)]).unwrap()[0].unwrap();
    assert_eq!(session.breakpoint(pid, id).unwrap().method(), Method::Boosted);
    // mov w0, #5 becomes mov w0, #0x1005, then #0x1007, by its second byte and by its first.
    session.write_memory(pid, work + 1, &[0x00, 0x82]).unwrap();
    session.write_memory(pid, work, &[0xe0]).unwrap();
    let mut shown = [0; 4];
    session.read_memory(pid, work, &mut shown).unwrap();
    assert_eq!(shown, [0xe0, 0x00, 0x82, 0x52]);
    for at in 0..4 {
        let mut byte = [0];
        session.read_memory(pid, work + at, &mut byte).unwrap();
        assert_eq!(byte[0], shown[at as usize], "read from the middle of a site");
    }
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert_eq!((outcome.text(), hits), (format!("{}\n", 6 * 0x1007).as_str(), 6));
}

#[test]
fn a_site_that_is_no_multiple_of_four_is_refused() {
    let (mut session, pid, work) = at_work_by_ptrace(&["6"]);
    for offset in 1..4 {
        let answer = session.insert(pid, &[Spec::count(work + offset)]).unwrap()[0];
        assert_eq!(answer.unwrap_err().reason, InsertReason::Misaligned);
    }
}
