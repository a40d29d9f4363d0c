//! Spawned programs: hits, counts, output, exit status.

mod common;

use common::*;
use ubp::{EventKind, Spec};

#[test]
fn every_call_of_a_function_is_one_event_at_its_site() {
    let program = build("loop", &[]);
    let mut session = session();
    let pid = session.spawn(piped(&program, &["20"])).unwrap();
    let work = symbol(&session, pid, "work");
    let id = session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut arguments = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Hit(hit) = &event.kind {
            assert_eq!((hit.id(), hit.address(), hit.count()), (id, work, arguments.len() as u64 + 1));
            let registers = session.registers(event.tid).unwrap();
            assert_eq!(registers.pc(), work);
            arguments.push(registers.get(machine::ARGUMENTS[0]).unwrap());
        }
    });
    assert_eq!(arguments, (0..20).collect::<Vec<_>>());
    let plain = undisturbed(&program, &["20"]);
    assert_eq!(outcome.output, plain.stdout);
    assert_eq!(exit_of(&outcome), EventKind::Exited(plain.status.code().unwrap()));
}

#[test]
fn with_a_site_on_every_instruction_a_program_does_what_it_does_without() {
    let program = build("loop", &[]);
    let (mut session, pid, ids) = spawn_with_sites(&program, &["1000"], &["work", "main"]);
    let mut counts = Vec::new();
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            counts = ids.iter().map(|id| session.breakpoint(pid, *id).unwrap().hits()).collect();
        }
    });
    assert_eq!(counts[0], 1000, "the first instruction of work");
    let plain = undisturbed(&program, &["1000"]);
    assert_eq!(outcome.output, plain.stdout);
    assert_eq!(exit_of(&outcome), EventKind::Exited(plain.status.code().unwrap()));
}
