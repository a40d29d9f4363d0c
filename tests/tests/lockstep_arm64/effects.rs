//! The effects that `insn` reports for A64: two runs whose states differ only in what an instruction does not read agree in what it writes.

use crossing::Random;
use insn::Flow;
use insn::arm64::{Address, Effects, Insn, Reg, decode};
use stepping::arm64::Registers;

use crate::lab::Lab;
use crate::state::{State, Stop};

/// Words tried where `NTRACE_SEMANTICS_CASES` does not say. A quarter of them are instructions that run here and come to their end.
const WORDS: usize = 12_000;
/// `PR_SVE_SET_VL` (linux/prctl.h).
const SVE_SET_VL: i32 = 50;
/// NZCV in PSTATE.
const FLAGS: u32 = 28;

/// The bits in which a register differs between two states.
fn differ(reg: Reg, left: &State, right: &State) -> u128 {
    match reg {
        Reg::FPSR => u128::from(left.floating[0] ^ right.floating[0]),
        Reg::FPCR => u128::from(left.floating[1] ^ right.floating[1]),
        _ => match reg.as_vector() {
            Some(number) => left.vectors[usize::from(number)] ^ right.vectors[usize::from(number)],
            None => u128::from(left.get(reg) ^ right.get(reg)),
        },
    }
}

/// The registers of a state.
fn registers() -> impl Iterator<Item = Reg> {
    (0..31).map(Reg::general).chain((0..32).map(Reg::vector)).chain([Reg::SP, Reg::FPSR, Reg::FPCR])
}

/// `state` with other values in everything that the instruction does not read.
fn unread_changed(effects: &Effects, state: &State, random: &mut Random) -> State {
    let mut other = state.clone();
    for reg in registers().filter(|reg| !effects.reads.contains(*reg)) {
        match (reg.as_general(), reg.as_vector()) {
            (Some(number), _) => other.general[usize::from(number)] = random.next(),
            (_, Some(number)) => {
                other.vectors[usize::from(number)] = u128::from(random.next()) << 64 | u128::from(random.next());
            }
            _ if reg == Reg::SP => other.sp ^= random.next() & 0xff0,
            _ => {}
        }
    }
    let unread = !effects.flags_read.bits() & 0xf;
    other.pstate ^= u64::from(random.next() as u8 & unread) << FLAGS;
    other
}

/// The faults of an instruction's reported effects that two completed runs show.
fn wrong(effects: &Effects, before: [&State; 2], after: [&State; 2]) -> Vec<String> {
    let mut out = Vec::new();
    for reg in registers() {
        let [left, right] = after;
        let kept = differ(reg, before[0], left) | differ(reg, before[1], right);
        if !effects.writes.contains(reg) && kept != 0 {
            out.push(format!("{reg} changed"));
        }
        // A bit that one of the runs changed must not depend on the difference between the states.
        if differ(reg, left, right) & kept != 0 {
            out.push(format!("{reg} depends on what is not read"));
        }
        if effects.overwrites.contains(reg) && differ(reg, left, right) != 0 {
            out.push(format!("{reg} keeps {:#x}", differ(reg, left, right)));
        }
    }
    let flags = |left: &State, right: &State| ((left.pstate ^ right.pstate) >> FLAGS) as u8 & 0xf;
    let written = effects.flags_written.bits();
    if (flags(before[0], after[0]) | flags(before[1], after[1])) & !written != 0 {
        out.push("a flag changed".to_owned());
    }
    if flags(after[0], after[1]) & written != 0 {
        out.push("a flag keeps what it was, or depends on what is not read".to_owned());
    }
    out
}

/// Whether the outcome depends only on registers of a state and on the data.
fn is_function(insn: &Insn) -> bool {
    let effects = insn.effects();
    let system = [Reg::SYSTEM, Reg::SVCR, Reg::ZA, Reg::ZT0, Reg::GCSPR, Reg::TPIDR, Reg::FPMR, Reg::FFR];
    let predicates = (0..16).map(Reg::predicate);
    let touched = effects.reads.union(effects.writes);
    insn.flow() == Flow::Next && !system.into_iter().chain(predicates).any(|reg| touched.contains(reg))
}

/// Points the bases of memory operands into the data. Where a register has the size of an operand (FEAT_MOPS), the operand stays in the data.
fn with_bases(insn: &Insn, state: &mut State, lab: &Lab, random: &mut Random) {
    if insn.memories().into_iter().flatten().any(|memory| memory.size == 0 && !memory.by_vector_length) {
        let mut sizes = Random::new(state.general[0]);
        for (number, register) in (0..).zip(&mut state.general) {
            if insn.effects().reads.contains(Reg::general(number)) {
                *register = sizes.next() & 0x3f;
            }
        }
    }
    for memory in insn.memories().into_iter().flatten() {
        if let Some(number) = memory.index.and_then(Reg::as_general) {
            state.general[usize::from(number)] = random.next() & 0x3f;
        }
        if let Address::Register(base) = memory.base {
            let address = lab.data().wrapping_add(0x400 + (random.next() & 0xf0));
            let address = address.wrapping_sub(memory.displacement as u64);
            if base == Reg::SP {
                state.sp = address & !0xf;
            } else if let Some(number) = base.as_general() {
                state.general[usize::from(number)] = address;
            }
        }
    }
}

#[test]
fn what_is_not_read_does_not_matter_and_what_is_overwritten_keeps_nothing() {
    let lab = Lab::new(false);
    // A state has 128 bits of each vector, so vectors of SVE must not be longer.
    // SAFETY: the call changes the length of this thread's vectors. The compiler keeps no value in the longer part, as nothing here uses SVE.
    unsafe { libc::prctl(SVE_SET_VL, 16) };
    let number = |name: &str| -> Option<u64> { std::env::var(name).ok().and_then(|value| value.parse().ok()) };
    let words = number("NTRACE_SEMANTICS_CASES").map_or(WORDS, |words| words as usize);
    let mut random = Random::new(number("NTRACE_SEMANTICS_SEED").unwrap_or(7));
    let (mut done, mut found) = (0, Vec::new());
    for _ in 0..words {
        let word = random.next() as u32;
        let Ok(insn) = decode(word) else { continue };
        if !is_function(&insn) || insn.is_unpredictable() {
            continue;
        }
        let mut first = State::random(random.next(), &lab);
        with_bases(&insn, &mut first, &lab, &mut random);
        let effects = insn.effects();
        let second = unread_changed(&effects, &first, &mut random);
        lab.place(&[word]);
        let ends: [Stop; 2] = [&first, &second].map(|state| lab.run(state));
        let next = first.pc + 4;
        if ends.iter().any(|end| end.signal != libc::SIGTRAP || end.state.pc != next) {
            continue;
        }
        done += 1;
        let [left, right] = &ends;
        let mut wrong = wrong(&effects, [&first, &second], [&left.state, &right.state]);
        if left.data != right.data {
            wrong.push("memory depends on what is not read".to_owned());
        }
        if !wrong.is_empty() {
            found.push(format!("{word:#010x}: {}; {effects:?}", wrong.join(", ")));
        }
    }
    println!("{done} instructions came to their end");
    assert!(done > words / 20, "{done} of {words}");
    assert!(found.is_empty(), "{} of {done}:\n{}", found.len(), found.join("\n"));
}
