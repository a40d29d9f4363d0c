//! The shadow stack follows calls and returns.

use insn::x86::{Mode, Reg};
use stepping::x86::{Outcome, Registers};
use stepping::{Fault, Memory};

use crate::emulate;
use crate::machine::{Machine, Pieces, SHADOW, STACK, memory};

fn machine() -> Machine {
    let mut machine = Machine::new();
    machine.shadow_stack = true;
    machine.put(Reg::SSP, SHADOW + 0x40);
    machine
}

#[test]
fn calls_push_and_returns_compare() {
    let (mut machine, mut memory) = (machine(), memory());
    emulate("e800000010", Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory).unwrap();
    assert_eq!(machine.get(Reg::SSP), SHADOW + 0x38);
    assert_eq!(memory.word(SHADOW + 0x38), 0x1005);
    emulate("c3", Mode::INTEL_64, 0x2000).run(&mut machine, &mut memory).unwrap();
    assert_eq!((machine.get(Reg::SSP), machine.get(Reg::RIP)), (SHADOW + 0x40, 0x1005));
}

#[test]
fn a_changed_return_address_is_a_control_protection_fault() {
    let (mut machine, mut memory) = (machine(), memory());
    memory.poke(STACK + 0x80, &0x1234_u64.to_le_bytes());
    let before = (machine.clone(), memory.clone());
    let fault = emulate("c3", Mode::INTEL_64, 0x2000).run(&mut machine, &mut memory);
    assert_eq!(fault, Err(Fault::ControlProtection(0x1234)));
    assert_eq!((machine, memory), before);
}

#[test]
fn a_call_to_the_next_instruction_makes_no_entry() {
    let (mut machine, mut memory) = (machine(), memory());
    assert_eq!(emulate("e800000000", Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory), Ok(Outcome::Done));
    assert_eq!(machine.get(Reg::SSP), SHADOW + 0x40);
    assert_eq!(memory.word(SHADOW + 0x38), crate::machine::memory().word(SHADOW + 0x38));
}

#[test]
fn a_shadow_stack_that_is_full_leaves_the_stack_as_it_was() {
    /// Memory whose shadow stack cannot be written.
    struct Full(Pieces);
    impl Memory for Full {
        fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
            self.0.read(address, buffer)
        }
        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
            self.0.write(address, bytes)
        }
        fn write_shadow_stack(&mut self, address: u64, _: &[u8]) -> Result<(), Fault> {
            Err(Fault::Page(address))
        }
    }
    let (mut machine, mut memory) = (machine(), Full(memory()));
    let before = machine.clone();
    let fault = emulate("e800000010", Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory);
    assert_eq!(fault, Err(Fault::Page(SHADOW + 0x38)));
    assert_eq!(machine, before);
    assert_eq!(memory.0, crate::machine::memory());
}
