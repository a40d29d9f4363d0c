//! Records with the stack: it is the one that the program saw.
#![cfg(target_arch = "x86_64")]

use insn::x86::Reg;
use ubp::{Buffer, EventKind, Method, Options, Patch, Record, Session, Spec, StackCopy, WhenFull};

use crate::common::*;

/// The words that the program sums at most.
const WORDS: u64 = 500;
/// Bytes of the stack that are recorded.
const ROOM: u16 = 8 * (WORDS as u16 + 1);

fn with_stacks(stack: u16) -> Session {
    stacks_of(stack, true)
}

/// `exit_kill`: the program does not outlive the tracer.
fn stacks_of(stack: u16, exit_kill: bool) -> Session {
    let mut options = Options::default();
    (options.signals, options.exit_kill) = (false, exit_kill);
    options.buffer = Buffer { when_full: WhenFull::Wait, records: 64, stack };
    Session::with_options(options).unwrap()
}

/// The records of the program, which calls `probe` `calls` times on each of its stacks.
fn recorded(mut session: Session, patch: Patch, args: &[&str]) -> Vec<Record> {
    let program = build("x86/stacks", &["-pthread", "-fno-stack-protector"]);
    let pid = session.spawn(piped(&program, args)).unwrap();
    let probe = symbol(&session, pid, "probe");
    let id =
        session.insert(pid, &[Spec::record(probe).with_stack().with_text_of([2]).patch(patch)]).unwrap()[0].unwrap();
    assert_eq!(session.breakpoint(pid, id).unwrap().method() == Method::Jumped, patch == Patch::Jump);
    session.resume(pid.leader()).unwrap();
    let (mut records, mut hits) = (Vec::new(), 0);
    let outcome = run(&mut session, pid, |session, event| {
        records.extend(session.take_records());
        if let EventKind::Exited(_) = event.kind {
            let breakpoint = session.breakpoint(pid, id).unwrap();
            hits = breakpoint.hits();
            // The jump stays although threads found the ring full.
            assert_eq!(breakpoint.method() == Method::Jumped, patch == Patch::Jump);
        }
    });
    assert_eq!(outcome.text(), "done\n");
    records.extend(session.take_records());
    let calls: u64 = args[0].parse().unwrap();
    assert_eq!((records.len() as u64, hits, session.lost_records()), (3 * calls, 3 * calls, 0));
    records
}

/// The sum of the words above the return address of `probe`, as the program forms it.
fn sum(stack: &StackCopy, count: u64) -> u64 {
    let mut bytes = vec![0; 8 * count as usize];
    let read = stack.read(ubp::Address(stack.registers.sp().0 + 8), &mut bytes);
    assert_eq!(read, bytes.len(), "the copy of {} bytes has the words", stack.bytes.len());
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    words.fold(0_u64, |sum, word| sum.rotate_left(1).wrapping_add(word))
}

/// Fails unless the registers and the stack are what the arguments tell.
fn check(record: &Record, room: u16) -> u64 {
    let [n, expected, count, ..] = record.arguments;
    let stack = record.stack.as_ref().expect("the stack");
    let registers = [(7, n), (6, expected), (2, count), (1, expected), (10, n + 1), (11, n + 2)];
    for (number, value) in registers {
        assert_eq!(stack.registers.get(Reg::gpr(number)), Some(value), "register {number} of call {n}");
    }
    assert_eq!(stack.registers.pc(), record.address);
    let caller = stack.bytes.first_chunk().map(|word| u64::from_le_bytes(*word));
    assert_eq!(caller, record.return_address.map(|address| address.0));
    assert_eq!(sum(stack, count.min(u64::from(room) / 8 - 1)) == expected, count < u64::from(room) / 8);
    assert_eq!(stack.is_cut, stack.bytes.len() == room.into());
    stack.bytes.len() as u64
}

#[test]
fn the_stack_in_a_record_is_the_one_that_the_program_saw() {
    for (patch, exit_kill) in [(Patch::Jump, true), (Patch::Jump, false), (Patch::Trap, true)] {
        let records = recorded(stacks_of(ROOM, exit_kill), patch, &["200"]);
        let lengths: Vec<u64> = records.iter().map(|record| check(record, ROOM)).collect();
        // A stack that ends where no memory follows is copied up to there.
        assert!(
            records[400..].iter().zip(&lengths[400..]).all(|(record, length)| *length == 8 + 8 * record.arguments[2])
        );
        assert!(lengths[..400].iter().any(|length| *length == u64::from(ROOM)), "{lengths:?}");
    }
}

#[test]
fn a_copy_that_has_no_room_for_the_stack_says_so() {
    for patch in [Patch::Jump, Patch::Trap] {
        let records = recorded(with_stacks(128), patch, &["70"]);
        let cut = records.iter().filter(|record| check(record, 128) == 128).count();
        assert!(cut > 150 && cut < records.len(), "{cut} of {}", records.len());
        let records = recorded(with_stacks(0), patch, &["3"]);
        assert!(records.iter().all(|record| record.stack.is_none()), "no room was asked for");
    }
}

#[test]
fn signals_while_stacks_are_copied_change_neither_records_nor_counts() {
    for exit_kill in [true, false] {
        for record in recorded(stacks_of(ROOM, exit_kill), Patch::Jump, &["2000", "storm"]) {
            check(&record, ROOM);
        }
    }
}
