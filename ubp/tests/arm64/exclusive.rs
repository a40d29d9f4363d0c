//! Loads and stores that are exclusive.

use insn::arm64::{Exclusive, decode};
use ubp::{Address, InsertReason, Session, Spec};

use crate::common::*;

#[test]
fn between_an_exclusive_load_and_its_store_no_breakpoint_stands_and_threads_get_through() {
    let program = build("arm64/exclusive", &[]);
    let mut session = Session::new().unwrap();
    let pid = session.spawn(piped(&program, &[])).unwrap();
    let base = load_address(&session, pid);
    let sites: Vec<u64> = instructions(&program, "add").into_iter().map(|at| base + at).collect();
    let mut kind = |site: &u64| {
        let mut word = [0; 4];
        session.read_memory(pid, Address(*site), &mut word).unwrap();
        decode(u32::from_le_bytes(word)).unwrap().exclusive()
    };
    let kinds: Vec<Option<Exclusive>> = sites.iter().map(&mut kind).collect();
    let position = |wanted| kinds.iter().position(|kind| *kind == Some(wanted)).unwrap();
    let (load, store) = (position(Exclusive::Load), position(Exclusive::Store));
    let specs: Vec<Spec> = sites.iter().map(|&site| Spec::count(Address(site))).collect();
    for (number, answer) in session.insert(pid, &specs).unwrap().into_iter().enumerate() {
        let inside = number > load && number <= store;
        match answer {
            Ok(_) => assert!(!inside, "{number}"),
            Err(error) => assert!(inside && matches!(error.reason, InsertReason::Refused(_)), "{number}: {error}"),
        }
    }
    session.resume(pid.leader()).unwrap();
    assert_eq!(run(&mut session, pid, |_, _| {}).text(), "800\n");
}
