//! Writes to parts of instructions.

use ubp::{EventKind, InsertReason, Method, Spec};

use crate::common::*;

#[test]
fn a_write_that_begins_or_ends_inside_of_a_site_changes_what_is_executed_there() {
    let (mut session, pid, work) = at_work_by_ptrace(&["6"]);
    // mov $5, %eax; nop; ret
    session.write_memory(pid, work, &[0xb8, 5, 0, 0, 0, 0x90, 0xc3]).unwrap();
    let sites = [work, work + 5];
    let ids = session.insert(pid, &sites.map(Spec::count)).unwrap().into_iter().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(
        ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().method()).collect::<Vec<_>>(),
        [Method::Boosted, Method::Emulated]
    );
    session.write_memory(pid, work + 1, &[7]).unwrap();
    // ret, and a byte that is no instruction in 64-bit mode.
    session.write_memory(pid, work + 5, &[0xc3, 0x06]).unwrap();
    let mut shown = [0; 7];
    session.read_memory(pid, work, &mut shown).unwrap();
    assert_eq!(shown, [0xb8, 7, 0, 0, 0, 0xc3, 0x06]);
    let last = session.insert(pid, &[Spec::count(work + 6)]).unwrap()[0];
    assert!(matches!(last.unwrap_err().reason, InsertReason::NotAnInstruction(_)));
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
        }
    });
    assert_eq!((outcome.text(), hits), ("42\n", vec![6, 6]));
}
