//! A64: branches, trampolines and their places, and on an A64 processor what they do.

#[cfg(target_arch = "aarch64")]
mod run;

use insn::arm64::Reg;
use stepping::arm64::Registers;
use stepping::{Fault, Memory};
use trampoline::arm64::{Progress, Refusal, Site, begins_trampoline, branch, branch_target};

const PC: u64 = 0x40_0000;
const AT: u64 = 0x50_0000;
const COUNTER: u64 = 0x1234_5678_9abc_def0;
/// `add x0, x0, #1`
const ADD: u32 = 0x9100_0400;

fn site(code: &[u32]) -> Site<'_> {
    Site { pc: PC, code, index: 0, guarded: false, control_stack: false, atomics: true }
}

#[test]
fn a_branch_reaches_128_mebibytes() {
    assert_eq!(branch(PC, PC - 4), Ok(0x17ff_ffff));
    assert_eq!(branch(PC, PC + (1 << 27)), Err(Refusal::OutOfReach(PC + (1 << 27))));
}

#[test]
fn the_target_of_a_branch_is_where_it_was_made_to_lead() {
    for to in [PC.wrapping_sub(1 << 27), PC - 4, PC, PC + 4, PC + (1 << 27) - 4] {
        assert_eq!(branch_target(PC, branch(PC, to).unwrap()), Some(to));
    }
    // bl; b.al; br x0
    for other in [0x9400_0001, 0x5400_002e, 0xd61f_0000] {
        assert_eq!(branch_target(PC, other), None);
    }
}

#[test]
fn a_trampoline_is_known_by_its_first_words() {
    for atomics in [true, false] {
        for at in [AT, AT + 4096] {
            let trampoline = Site { atomics, ..site(&[ADD]) }.count(COUNTER, at).unwrap();
            let [first, second, ..] = *trampoline.words() else { panic!() };
            assert!(begins_trampoline([first, second]));
            for bit in 0..32 {
                assert!(!begins_trampoline([first ^ 1 << bit, second]), "{bit}");
            }
        }
    }
    assert!(!begins_trampoline([0xa9be_47f0, ADD]));
}

#[test]
fn a_trampoline_counts_and_runs_the_copy() {
    let trampoline = site(&[ADD]).count(COUNTER, AT).unwrap();
    let words = trampoline.words();
    assert_eq!(words[..6], [0xa9be_47f0, words[1], 0xd280_0031, 0xf831_021f, 0xa8c2_47f0, ADD]);
    // The load reads the counter's address, which is aligned.
    let literal = 1 + (words[1] >> 5 & 0x7_ffff) as usize;
    assert_eq!(literal % 2, 0);
    assert_eq!(u64::from(words[literal]) | u64::from(words[literal + 1]) << 32, COUNTER);
    assert_eq!(branch(AT + 24, PC + 4), Ok(words[6]));
    assert_eq!(trampoline.copy(), AT + 20);
}

#[test]
fn a_call_stores_the_programs_return_address() {
    // bl .+0x1000
    let trampoline = site(&[0x9400_0400]).count(COUNTER, AT).unwrap();
    let words = trampoline.words();
    let literal = 5 + (words[5] >> 5 & 0x7_ffff) as usize;
    assert_eq!(u64::from(words[literal]) | u64::from(words[literal + 1]) << 32, PC + 4);
    assert_eq!(branch(AT + 24, PC + 0x1000), Ok(words[6]));
}

#[test]
fn what_a_branch_cannot_stand_for_is_refused() {
    let refused = |site: &Site<'_>| site.count(COUNTER, AT).map(|_| ()).unwrap_err();
    // bti c; bl; blr x30; stxr; movprfx z0, z1; udf-like word
    assert_eq!(refused(&Site { guarded: true, ..site(&[0xd503_245f]) }), Refusal::LandingPad);
    assert_eq!(refused(&Site { control_stack: true, ..site(&[0x9400_0400]) }), Refusal::ControlStack);
    assert_eq!(refused(&site(&[0xd63f_03c0])), Refusal::CallThroughLink);
    assert!(matches!(refused(&site(&[0xc802_7c01])), Refusal::Stepping(_)));
    assert_eq!(refused(&site(&[0x0420_bc20])), Refusal::NeedsTrap);
    assert_eq!(refused(&site(&[])), Refusal::NotCode);
    assert!(site(&[0xd503_245f]).count(COUNTER, AT).is_ok());
}

struct Machine([u64; 128]);

impl Registers for Machine {
    fn get(&self, reg: Reg) -> u64 {
        self.0[usize::from(reg.number())]
    }
    fn set(&mut self, reg: Reg, value: u64) {
        self.0[usize::from(reg.number())] = value;
    }
    fn branch_type(&self) -> u8 {
        0
    }
    fn set_branch_type(&mut self, _: u8) {}
}

/// A stack on which each word is its address.
struct Stack;

impl Memory for Stack {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        buffer.copy_from_slice(&address.to_le_bytes());
        Ok(())
    }
    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), Fault> {
        Err(Fault::Page(address))
    }
}

#[test]
fn places_give_the_state_at_the_site() {
    for (atomics, frame, head) in [(true, 32, 5), (false, 48, 9)] {
        let trampoline = Site { atomics, ..site(&[ADD]) }.count(COUNTER, AT).unwrap();
        for index in 0..head {
            let place = trampoline.place(4 * index).unwrap();
            let mut machine = Machine([7; 128]);
            let pushed = index > 0;
            machine.set(Reg::SP, 0x8000 - if pushed { frame } else { 0 });
            place.restore(&mut machine, &mut Stack).unwrap();
            assert_eq!((machine.get(Reg::SP), machine.get(Reg::PC), place.own), (0x8000, PC, true));
            let x16 = if pushed { 0x8000 - frame } else { 7 };
            assert_eq!(machine.get(Reg::general(16)), x16, "{index}");
        }
        let copy = trampoline.place(4 * head).unwrap();
        assert_eq!((copy.pc, copy.progress, copy.own), (PC, Progress::Done, false));
        let behind = trampoline.place(4 * head + 4).unwrap();
        assert_eq!((behind.pc, behind.progress), (PC + 4, Progress::Before));
        assert_eq!(trampoline.place(4 * head + 8), None);
        assert_eq!(trampoline.place(2), None);
    }
}
