//! Watchpoints where the processor or the kernel sets them limits.

use std::fs::File;
use std::os::fd::FromRawFd;

use ubp::{Access, Address, Error, EventKind, Options, Pid, Session};

use crate::common::*;

/// The trap flag, in the second byte of the flags.
const TRAP: u64 = 1 << 8;
/// pushf.
const PUSHF: u8 = 0x9c;

/// A program held at its first instruction, over ptrace.
fn spawned(name: &str, args: &[&str]) -> (Session, Pid) {
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    let mut session = Session::with_options(options).unwrap();
    let pid = session.spawn(piped(&build(name, &[]), args)).unwrap();
    (session, pid)
}

fn word(session: &mut Session, pid: Pid, address: Address) -> u64 {
    let mut raw = [0; 8];
    session.read_memory(pid, address, &mut raw).unwrap();
    u64::from_le_bytes(raw)
}

#[test]
fn flags_that_a_step_pushes_into_watched_memory_have_no_trap_flag() {
    let (mut session, pid) = spawned("steps", &["path"]);
    let tid = pid.leader();
    let begin = symbol(&session, pid, "at_behind_repeat");
    session.run_to(tid, begin).unwrap();
    let mut pushes = 0;
    loop {
        let event = session.wait().unwrap().unwrap();
        match event.kind {
            EventKind::Stepped => {}
            EventKind::Loaded(_) => {
                session.resume(tid).unwrap();
                continue;
            }
            kind => panic!("{kind:?}"),
        }
        let registers = session.registers(tid).unwrap();
        let mut byte = [0];
        session.read_memory(pid, registers.pc(), &mut byte).unwrap();
        if byte != [PUSHF] {
            if pushes == 2 {
                break;
            }
            session.step(tid).unwrap();
            continue;
        }
        pushes += 1;
        let pushed = Address(registers.sp().0 - 8);
        let watch = session.watch(pid, pushed, 8, Access::Write).unwrap();
        session.step(tid).unwrap();
        let event = session.wait().unwrap().unwrap();
        if event.kind == EventKind::Stepped {
            return skip(
                "flags_that_a_step_pushes_into_watched_memory_have_no_trap_flag",
                "the debug registers of this machine do not work",
            );
        }
        assert_eq!(event.kind, EventKind::Watched { id: watch, address: pushed });
        assert_eq!(word(&mut session, pid, pushed) & TRAP, 0, "at the access");
        session.unwatch(pid, watch).unwrap();
        // The step is over as soon as the access is told.
        session.resume(tid).unwrap();
    }
    session.resume(tid).unwrap();
    let outcome = run(&mut session, pid, |_, _| {});
    assert_eq!((outcome.text(), exit_of(&outcome)), ("abcde 0\n", EventKind::Exited(5)));
}

#[test]
fn an_access_of_which_the_processor_does_not_tell_is_a_hit_of_the_only_debug_register() {
    for count in [1, 2] {
        let (mut session, pid) = spawned("watched", &["untold", "3"]);
        let words = symbol(&session, pid, "words");
        let watches: Vec<_> =
            (0..count).map(|at| session.watch(pid, words + 8 * at, 8, Access::Write).unwrap()).collect();
        session.resume(pid.leader()).unwrap();
        let mut hits = Vec::new();
        let outcome = run(&mut session, pid, |_, event| {
            if let EventKind::Watched { id, .. } = event.kind {
                hits.push(id);
            }
        });
        assert_eq!((outcome.text(), exit_of(&outcome)), ("0 0 \n", EventKind::Exited(5)));
        assert_eq!(hits, if count == 1 { vec![watches[0]; 3] } else { vec![] });
    }
}

#[test]
fn a_debug_exception_without_watchpoints_is_the_programs() {
    let (mut session, pid) = spawned("watched", &["untold", "1"]);
    session.resume(pid.leader()).unwrap();
    let outcome = run(&mut session, pid, |_, _| {});
    assert_eq!(exit_of(&outcome), EventKind::Killed(ubp::Signal(libc::SIGTRAP)));
}

/// The head of `struct perf_event_attr` (include/uapi/linux/perf_event.h), as far as breakpoints need it.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    access: u32,
    address: u64,
    length: u64,
}

/// A counter of writes to 8 bytes by one thread, which takes a debug register until it is dropped (perf_event_open(2)).
fn counter_of_writes(pid: Pid, address: Address) -> std::io::Result<File> {
    const BREAKPOINT: u32 = 5;
    const WRITE: u32 = 2;
    /// disabled, exclude_kernel, exclude_hv
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6;
    let size = size_of::<Attributes>() as u32;
    let attributes = Attributes {
        kind: BREAKPOINT,
        size,
        flags: FLAGS,
        access: WRITE,
        address: address.0,
        length: 8,
        ..Default::default()
    };
    // SAFETY: the kernel reads the attributes, which are as long as they say.
    let event = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, pid.0, -1, -1, 0) };
    if event < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { File::from_raw_fd(event as i32) })
}

#[test]
fn debug_registers_that_perf_has_are_refused_and_taken_when_they_are_free() {
    let (mut session, pid) = spawned("watched", &["store", "3"]);
    let words = symbol(&session, pid, "words");
    let counters: std::io::Result<Vec<File>> = (1..=4).map(|at| counter_of_writes(pid, words + 8 * at)).collect();
    let mut counters = match counters {
        Ok(counters) => counters,
        Err(error) => {
            let reason = format!("perf_event_open: {error}");
            return skip("debug_registers_that_perf_has_are_refused_and_taken_when_they_are_free", &reason);
        }
    };
    for _ in 0..2 {
        let refused = session.watch(pid, words, 8, Access::Write);
        assert!(matches!(refused, Err(Error::DebugRegisters(tid)) if tid == pid.leader()), "{refused:?}");
    }
    counters.pop();
    let watch = session.watch(pid, words, 8, Access::Write).unwrap();
    let second = session.watch(pid, words + 8, 8, Access::Write);
    assert!(matches!(second, Err(Error::DebugRegisters(_))), "{second:?}");
    session.resume(pid.leader()).unwrap();
    let mut hits = Vec::new();
    let outcome = run(&mut session, pid, |_, event| {
        if let EventKind::Watched { id, .. } = event.kind {
            hits.push(id);
        }
    });
    assert_eq!(exit_of(&outcome), EventKind::Exited(5));
    if hits.is_empty() {
        return skip(
            "debug_registers_that_perf_has_are_refused_and_taken_when_they_are_free",
            "the debug registers of this machine do not work",
        );
    }
    assert_eq!(hits, [watch; 3]);
}
