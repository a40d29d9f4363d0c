//! Instructions behind a jump do what they do undisturbed: every opcode form at every position of a run, entered at every boundary, with
//! faults, with signals at every instruction of the trampoline, and with every action.
#![cfg(target_arch = "x86_64")]

use std::io::ErrorKind;

use crossing::Random;
use crossing::lockstep::{EndingOf, Jumped, Lab};
use crossing::semantics::{Skeleton, encode, skeletons, state_for, variable};
use insn::Flow;
use insn::x86::{Insn, Map, Vendor, decode};
use trampoline::x86::{Probe, Refusal};

/// Instructions of one to four bytes that change little.
const FILLERS: &[&[u8]] = &[
    &[0x90],
    &[0xf8],
    &[0x98],
    &[0x84, 0xc0],
    &[0x39, 0xd8],
    &[0x66, 0x90],
    &[0x48, 0x39, 0xf7],
    &[0x48, 0xff, 0xc3],
    &[0x0f, 0x94, 0xc1],
    &[0x48, 0x8d, 0x1b, 0x90],
];

/// Code in which `insn` begins after fillers of `position` bytes, with at least five bytes in all and some more behind.
fn around(insn: &Insn, position: usize, random: &mut Random) -> Vec<u8> {
    let mut code = Vec::new();
    while code.len() < position {
        let filler = random.one_of(FILLERS);
        if code.len() + filler.len() <= position {
            code.extend(filler);
        }
    }
    code.extend(insn.bytes());
    let len = 5 + 8 + random.below(24) as usize;
    while code.len() < len {
        code.extend(random.one_of(FILLERS));
    }
    code
}

/// The offsets at which instructions begin that a jump covers.
fn starts(code: &[u8], lab: &Lab) -> Vec<u8> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at < 5 {
        starts.push(at as u8);
        at += decode(&code[at..], lab.mode()).expect("an instruction").len();
    }
    starts
}

/// The number of instructions to which probes extend a run.
const FURTHEST: u64 = 11;

/// A probe that counts at the site, and often one at a later instruction, to which the run goes on. That one does nothing: what probes push below the
/// red zone would differ from one to the next.
fn probes(code: &[u8], lab: &Lab, random: &mut Random) -> Vec<Probe<'static>> {
    let mut probes = vec![Probe { arrivals: Some(lab.layout().notes), ..Probe::default() }];
    let mut offset = 0;
    for _ in 0..random.below(FURTHEST) * random.below(2) {
        match decode(code.get(offset..).unwrap_or_default(), lab.mode()) {
            Ok(insn) if offset + insn.len() < code.len() => offset += insn.len(),
            _ => break,
        }
    }
    if offset > 0 {
        probes.push(Probe { offset: offset as u8, ..Probe::default() });
    }
    probes
}

/// Whether a run of it depends on more than its state, or it does what a jump cannot leave alone.
fn is_left_out(insn: &Insn) -> bool {
    // `int1`, at which some hypervisors leave the pc, and system calls that end the child or that it is never seen to return from.
    variable(insn).is_some() || insn.map() == Map::OneByte && insn.opcode() == 0xf1
}

#[derive(Default, Debug)]
struct Tally {
    runs: u64,
    complete: u64,
    traps: u64,
    stepped: u64,
    refused: u64,
    endless: u64,
    faults: u64,
}

/// Runs one instruction at one position; the differences.
fn check(lab: &mut Lab, insn: &Insn, position: usize, random: &mut Random, tally: &mut Tally) -> Result<(), String> {
    let code = around(insn, position, random);
    let counter = lab.layout().notes;
    let probes = probes(&code, lab, random);
    let starts = starts(&code, lab);
    let start = random.one_of(&starts);
    let jumped = Jumped { code: &code, start, probes: &probes, keep_dead: true };
    if let Err(reason) = jumped.assemble(lab) {
        tally.refused += 1;
        return match reason {
            Refusal::OwnAddress(_)
            | Refusal::CallThroughStack(_)
            | Refusal::NarrowBranch(_)
            | Refusal::OutOfReach(_) => Ok(()),
            reason => Err(format!("{reason}")),
        };
    }
    let mut state = state_for(lab, insn, random);
    let error = |error: std::io::Error| error.to_string();
    match lab.preload(&jumped, &mut state) {
        // A loop that never ends, as it does undisturbed.
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            tally.endless += 1;
            return Ok(());
        }
        done => done.map_err(error)?,
    }
    lab.note(counter, &[0; 8]);
    let expected = lab.undisturbed(&jumped, &state).map_err(error)?;
    let found = lab.through_jump(&jumped, &state, false).map_err(error)?;
    let differences = expected.differences(&found.ending);
    tally.runs += 1;
    tally.complete += u64::from(expected.is_complete());
    tally.traps += u64::from(found.traps);
    tally.faults += u64::from(found.faults);
    let excused = insn.flow() == Flow::Call && is_excused(lab, &expected);
    if !differences.is_empty() && !excused {
        return Err(differences.join("\n    "));
    }
    let counted = u64::from_le_bytes(found.notes[..8].try_into().expect("a word"));
    if counted < u64::from(start == 0) || start != 0 && found.traps == 0 {
        return Err(format!("{counted} arrivals, {} traps", found.traps));
    }
    // Steps of system calls and of what changes segments are told otherwise.
    if !matches!(insn.flow(), Flow::Syscall | Flow::Interrupt | Flow::Far) && !delays(insn) {
        tally.stepped += lab.step_through(&jumped, &state).map_err(error)? as u64;
    }
    Ok(())
}

/// Whether a run with a call may have left the return address below the stack pointer: an AMD does not where the call faults at its target.
fn is_excused(lab: &Lab, expected: &EndingOf) -> bool {
    lab.mode().vendor == Vendor::Amd && !expected.is_complete()
}

/// Whether a single step goes one instruction further, or single steps are seen by the instruction.
fn delays(insn: &Insn) -> bool {
    matches!((insn.map(), insn.opcode()), (Map::OneByte, 0x8e | 0x9c | 0x9d) | (Map::M0F, 0x00 | 0x01))
}

/// Whether an instruction stores the addresses of the last x87 instruction and of its operand. On AMD a context switch loses these, and so does
/// each trap that brings one: a known deviation of `stepping::x86`.
fn stores_pointers(insn: &Insn) -> bool {
    matches!(insn.mnemonic(), "fnstenv" | "fnsave")
        || insn.mnemonic().starts_with("xsave")
        || insn.mnemonic().starts_with("fxsave")
}

#[test]
fn every_form_at_every_position_does_behind_a_jump_what_it_does_undisturbed() {
    let mut lab = Lab::x86_64();
    let rounds = std::env::var("NTRACE_TRAMPOLINE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_u64);
    let seed = std::env::var("NTRACE_TRAMPOLINE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut random = Random::new(seed);
    let (mut tally, mut wrong) = (Tally::default(), Vec::new());
    let forms = skeletons(lab.mode());
    let every = if rounds == 1 { 8 } else { 1 };
    for round in 0..rounds {
        for (index, form) in forms.iter().enumerate() {
            if (index as u64 + round) % every != 0 {
                continue;
            }
            let Some(insn) = encode(form, lab.mode(), &lab.layout(), &mut random) else { continue };
            if is_left_out(&insn) {
                continue;
            }
            let position = random.below(5) as usize;
            if let Err(differences) = check(&mut lab, &insn, position, &mut random, &mut tally) {
                wrong.push(format!("{:02x?} at +{position}: {differences}", insn.bytes()));
            }
        }
    }
    println!("{tally:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(tally.complete * 3 > tally.runs && tally.traps > tally.runs / 4, "{tally:?}");
}

/// Calls and branches: direct, through registers, memory, the stack and rip, and inside of the run.
const FLOWS: &[&[u8]] = &[
    // call rax; call r12; call [rax]; call [rbx + 8]; call [rip + 0x1000]
    &[0xff, 0xd0],
    &[0x41, 0xff, 0xd4],
    &[0xff, 0x10],
    &[0xff, 0x53, 0x08],
    &[0xff, 0x15, 0, 0x10, 0, 0],
    // call [rsp]; call [rsp + 8]; call [rsp - 16]; call [rsp + 0x100]; call [r12]
    &[0xff, 0x14, 0x24],
    &[0xff, 0x54, 0x24, 0x08],
    &[0xff, 0x54, 0x24, 0xf0],
    &[0xff, 0x94, 0x24, 0, 1, 0, 0],
    &[0x41, 0xff, 0x14, 0x24],
    // call .+5 + 0x20; call .+5; jmp .+0x40; jmp [rsp + 8]; ret; ret 8
    &[0xe8, 0x20, 0, 0, 0],
    &[0xe8, 0, 0, 0, 0],
    &[0xe9, 0x40, 0, 0, 0],
    &[0xff, 0x64, 0x24, 0x08],
    &[0xc3],
    &[0xc2, 8, 0],
    // jz +1; loop +1; jrcxz +1; jecxz +0x20; loopne -0x20
    &[0x74, 1],
    &[0xe2, 1],
    &[0xe3, 1],
    &[0x67, 0xe3, 0x20],
    &[0xe0, 0xe0],
];

#[test]
fn calls_and_branches_at_every_position_do_behind_a_jump_what_they_do_undisturbed() {
    let mut lab = Lab::x86_64();
    let mut random = Random::new(8);
    let (mut tally, mut wrong) = (Tally::default(), Vec::new());
    for bytes in FLOWS {
        let insn = decode(bytes, lab.mode()).expect("an instruction");
        for round in 0..20 {
            let position = round % 5;
            if let Err(differences) = check(&mut lab, &insn, position, &mut random, &mut tally) {
                wrong.push(format!("{bytes:02x?} at +{position}: {differences}"));
            }
        }
    }
    println!("{tally:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(tally.complete * 2 > tally.runs && tally.refused == 0, "{tally:?}");
}

/// Some instructions of any forms in a row, or any bytes.
fn any_code(forms: &[Skeleton], lab: &Lab, random: &mut Random) -> Vec<u8> {
    let mut code = Vec::new();
    let len = 12 + random.below(20) as usize;
    while code.len() < len {
        match random.below(4) {
            0 => code.push(random.byte()),
            1 => code.extend(random.one_of(FILLERS)),
            _ => {
                if let Some(insn) = encode(&random.one_of(forms), lab.mode(), &lab.layout(), random) {
                    code.extend(insn.bytes());
                }
            }
        }
    }
    code
}

/// Whether some instruction in the code, begun at any byte, depends on more than its state or asks the kernel for something.
fn is_tame(code: &[u8], lab: &Lab) -> bool {
    let mut padded = code.to_vec();
    padded.resize(code.len() + 15, 0xcc);
    let at = (0..code.len()).filter_map(|at| decode(&padded[at..], lab.mode()).ok());
    at.into_iter().all(|insn| {
        let asks = matches!(insn.flow(), Flow::Syscall | Flow::Interrupt | Flow::Transaction | Flow::Far);
        let loses = lab.mode().vendor == Vendor::Amd && stores_pointers(&insn);
        !(is_left_out(&insn) || delays(&insn) || asks || loses)
    })
}

#[test]
fn any_bytes_entered_at_any_byte_do_behind_a_jump_what_they_do_undisturbed() {
    let mut lab = Lab::x86_64();
    let count = std::env::var("NTRACE_TRAMPOLINE_CODES").ok().and_then(|text| text.parse().ok()).unwrap_or(1500_u64);
    let mut random = Random::new(count);
    let forms = skeletons(lab.mode());
    let (mut runs, mut traps, mut inside, mut wrong) = (0, 0, 0, Vec::new());
    for _ in 0..count {
        let code = any_code(&forms, &lab, &mut random);
        let start = random.below(5) as u8;
        let Some(first) = decode(&code[usize::from(start)..], lab.mode()).ok().filter(|_| is_tame(&code, &lab)) else {
            continue;
        };
        let probes = probes(&code, &lab, &mut random);
        let jumped = Jumped { code: &code, start, probes: &probes, keep_dead: true };
        let Ok((trampoline, ..)) = jumped.assemble(&lab) else { continue };
        inside += u64::from(start != 0 && trampoline.entry(start).is_none());
        let mut state = state_for(&lab, &first, &mut random);
        match lab.preload(&jumped, &mut state) {
            Err(error) if error.kind() == ErrorKind::TimedOut => continue,
            done => done.unwrap_or_else(|error| panic!("{code:02x?} from {start}: {error}")),
        }
        let expected = lab.undisturbed(&jumped, &state).expect("the child lives");
        let found = lab.through_jump(&jumped, &state, false).expect("the child lives");
        let differences = expected.differences(&found.ending);
        runs += 1;
        traps += u64::from(found.traps);
        let mut insns = (0..code.len()).filter_map(|at| decode(&code[at..], lab.mode()).ok());
        let excused = is_excused(&lab, &expected) && insns.any(|insn| insn.flow() == Flow::Call);
        if !differences.is_empty() && !excused {
            wrong.push(format!("{code:02x?} from {start}: {}", differences.join("\n    ")));
        }
    }
    println!("{runs} runs, {traps} traps, {inside} entered inside of an instruction");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(runs > count / 4 && traps > runs / 3 && inside > runs / 10, "{runs} runs, {traps} traps, {inside} inside");
}
