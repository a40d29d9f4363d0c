//! Every register of a held thread, read and set by the tracer, and checked by the program.

use insn::x86::Reg;
use ubp::{Error, EventKind, Options, RegisterSet, Session, Spec, Tid};

use crate::common::*;

/// The general registers in the order of registers.c.
const GENERAL: [Reg; 12] = {
    let [rsi, rbp] = [Reg::RSI, Reg::RBP];
    let (r8, r9, r10, r11, r12, r13) =
        (Reg::gpr(8), Reg::gpr(9), Reg::gpr(10), Reg::gpr(11), Reg::gpr(12), Reg::gpr(13));
    [Reg::RAX, Reg::RBX, Reg::RCX, Reg::RDX, rsi, rbp, r8, r9, r10, r11, r12, r13]
};

/// The pattern of a register in registers.c.
fn pattern(reg: usize, length: usize, phase: usize) -> Vec<u8> {
    (0..length).map(|at| (reg * 37 + at * 11 + phase * 101) as u8).collect()
}

/// All registers that a program with vectors of `level` bits loads, and their values.
fn registers(level: usize, phase: usize) -> Vec<(Reg, Vec<u8>)> {
    let count = if level == 512 { 32 } else { 16 };
    let mut all: Vec<_> = (0..count).map(|n| (Reg::vector(n as u8), pattern(n, level / 8, phase))).collect();
    for n in 0..8_usize {
        if level == 512 {
            all.push((Reg::mask(n as u8), pattern(n + 32, 8, phase)));
        }
        let mut number = pattern(n + 40, 10, phase);
        number[7] |= 0x80;
        number[9] = 0x40;
        all.push((Reg::mmx(n as u8), number));
    }
    all.push((Reg::MXCSR, (if phase == 0 { 0x1f80_u32 } else { 0x9fc0 }).to_le_bytes().to_vec()));
    all
}

/// Runs registers.c with vectors of `level` bits to where all registers are loaded.
fn held(level: usize, phase: usize) -> (Session, ubp::Pid, Tid) {
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    let mut session = Session::with_options(options).unwrap();
    let pid = session.spawn(piped(&build("x86/registers", &[]), &[&level.to_string(), &phase.to_string()])).unwrap();
    let at = symbol(&session, pid, &format!("held_{level}"));
    session.insert(pid, &[Spec::event(at)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    loop {
        let event = session.wait().unwrap().unwrap();
        if let EventKind::Hit(_) = event.kind {
            return (session, pid, event.tid);
        }
        session.resume(event.tid).unwrap();
    }
}

fn has(feature: &str) -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    text.lines().find(|line| line.starts_with("flags")).unwrap().split_whitespace().any(|flag| flag == feature)
}

#[test]
fn every_register_is_read_and_set() {
    for (level, feature) in [(128, "sse2"), (256, "avx2"), (512, "avx512bw")] {
        if !has(feature) {
            skip("every_register_is_read_and_set", &format!("no {feature} on this processor"));
            continue;
        }
        let (mut session, pid, tid) = held(level, 1);
        let mut vectors = session.vector_registers(tid).unwrap();
        for (reg, value) in registers(level, 0) {
            let whole = vectors.get(reg).unwrap();
            assert_eq!(whole[..value.len()], value, "{reg}");
        }
        assert_eq!(
            vectors.names().filter(|reg| (32..64).contains(&reg.number())).count(),
            if has("avx512f") { 32 } else { 16 }
        );
        for (reg, value) in registers(level, 1) {
            let mut whole = vectors.get(reg).unwrap();
            whole[..value.len()].copy_from_slice(&value);
            assert!(vectors.set(reg, &whole), "{reg}");
        }
        session.set_vector_registers(tid, &vectors).unwrap();
        assert_eq!(format!("{:?}", session.vector_registers(tid).unwrap()), format!("{vectors:?}"));
        let mut general = session.registers(tid).unwrap();
        for (n, reg) in GENERAL.into_iter().enumerate() {
            let word = |phase| u64::from_le_bytes(pattern(n + 48, 8, phase).try_into().unwrap());
            assert_eq!(general.get(reg), Some(word(0)), "{reg}");
            assert!(general.set(reg, word(1)));
        }
        session.set_registers(tid, &general).unwrap();
        session.resume(tid).unwrap();
        assert_eq!(run(&mut session, pid, |_, _| ()).text(), "right\n", "vectors of {level} bits");
    }
}

#[test]
fn reading_registers_changes_none() {
    let (mut session, pid, tid) = held(128, 0);
    let vectors = session.vector_registers(tid).unwrap();
    session.set_vector_registers(tid, &vectors).unwrap();
    for set in [RegisterSet::GENERAL, RegisterSet::FLOAT, RegisterSet::XSTATE] {
        match session.register_set(tid, set) {
            Ok(bytes) => session.set_register_set(tid, set, &bytes).unwrap(),
            Err(Error::NoRegisterSet { .. }) => skip("reading_registers_changes_none", &format!("no {set}")),
            Err(error) => panic!("{error}"),
        }
    }
    session.resume(tid).unwrap();
    assert_eq!(run(&mut session, pid, |_, _| ()).text(), "right\n");
}

#[test]
fn what_a_thread_does_not_have_is_refused_by_name() {
    let (mut session, _, tid) = held(128, 0);
    let arm = RegisterSet(0x405);
    let refused = session.register_set(tid, arm);
    assert!(matches!(refused, Err(Error::NoRegisterSet { set, .. }) if set == arm), "{refused:?}");
    let mut vectors = session.vector_registers(tid).unwrap();
    assert!(!vectors.set(Reg::RAX, &[0; 8]), "a general register");
    assert!(!vectors.set(Reg::MXCSR, &[0; 8]), "another length");
    assert!(!vectors.set(Reg::XCR0, &vectors.get(Reg::XCR0).unwrap_or_default()), "only the kernel sets it");
    assert!(session.set_register_set(tid, RegisterSet::GENERAL, &[0; 3]).is_err());
    let bytes = session.register_set(tid, RegisterSet::GENERAL).unwrap();
    assert_eq!(bytes, session.registers(tid).unwrap().bytes());
    session.resume(tid).unwrap();
    assert!(matches!(session.register_set(tid, RegisterSet::FLOAT), Err(Error::NotHeld(_) | Error::NoSuchThread(_))));
}

#[test]
fn a_32_bit_program_has_eight_vector_registers() {
    let mut session = Session::with_options(Options::default()).unwrap();
    let pid = session.spawn(piped(&build("loop", &["-m32"]), &["1"])).unwrap();
    let vectors = session.vector_registers(pid.leader()).unwrap();
    let count = |from, to| vectors.names().filter(|reg| (from..to).contains(&reg.number())).count();
    assert_eq!((count(32, 64), count(72, 80)), (8, 8));
    assert_eq!(vectors.get(Reg::MXCSR), Some(0x1f80_u32.to_le_bytes().to_vec()));
}
