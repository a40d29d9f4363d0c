//! The guarded control stack follows calls and returns.

use insn::arm64::Reg;
use stepping::Fault;
use stepping::arm64::{Outcome, Registers};

use super::PC;
use crate::emulate;
use crate::machine::{DATA, Machine, memory};

fn machine(pointer: u64) -> Machine {
    let mut machine = Machine::new();
    machine.control_stack = true;
    machine.put(Reg::GCSPR, pointer);
    machine
}

#[test]
fn calls_push_and_returns_compare() {
    for word in [0x9400_0004, 0xd63f_0020] {
        let (mut machine, mut memory) = (machine(DATA + 0x40), memory());
        assert_eq!(emulate(word, PC).run(&mut machine, &mut memory), Ok(Outcome::Done));
        assert_eq!((machine.get(Reg::GCSPR), memory.word(DATA + 0x38)), (DATA + 0x38, PC + 4));
        assert_eq!(emulate(0xd65f_03c0, 0x2000).run(&mut machine, &mut memory), Ok(Outcome::Done));
        assert_eq!((machine.get(Reg::GCSPR), machine.get(Reg::PC)), (DATA + 0x40, PC + 4));
    }
}

#[test]
fn a_changed_return_address_is_a_control_protection_fault() {
    let mut changed = machine(DATA + 0x40);
    let before = changed.clone();
    let fault = emulate(0xd65f_03c0, 0x2000).run(&mut changed, &mut memory());
    assert_eq!((fault, changed), (Err(Fault::ControlProtection(30_000)), before));
}

#[test]
fn a_stack_that_is_full_or_empty_changes_nothing() {
    for (word, pointer, at) in [(0x9400_0004, DATA, DATA - 8), (0xd65f_03c0, DATA + 256, DATA + 256)] {
        let mut machine = machine(pointer);
        let before = machine.clone();
        let fault = emulate(word, PC).run(&mut machine, &mut memory());
        assert_eq!((fault, machine), (Err(Fault::Page(at)), before), "{word:#010x}");
    }
}

#[test]
fn jumps_leave_it_alone() {
    for word in [0x1400_0004, 0xd61f_0020] {
        let (mut machine, mut data) = (machine(DATA + 0x40), memory());
        emulate(word, PC).run(&mut machine, &mut data).unwrap();
        assert_eq!((machine.get(Reg::GCSPR), data), (DATA + 0x40, memory()));
    }
}
