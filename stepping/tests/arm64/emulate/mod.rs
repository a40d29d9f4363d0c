//! Emulation: what registers and memory are afterwards.

mod address;
mod branch;
mod compare;
mod control_stack;
mod defaults;
mod landing;

use insn::arm64::Reg;
use stepping::arm64::{Outcome, Registers};

use crate::emulate;
use crate::machine::{Machine, memory};

/// Where sites are.
const PC: u64 = 0x1000;

/// Runs the instruction, and fails where anything but the registers named is other than before.
fn changes(machine: &Machine, word: u32, changed: &[(Reg, u64)]) {
    let (mut after, mut data) = (machine.clone(), memory());
    assert_eq!(emulate(word, PC).run(&mut after, &mut data), Ok(Outcome::Done), "{word:#010x}");
    let mut expected = machine.clone();
    for (reg, value) in changed {
        expected.put(*reg, *value);
    }
    expected.branch_type = after.branch_type;
    assert_eq!(after, expected, "{word:#010x}");
    assert_eq!(data, memory(), "{word:#010x}");
}

/// Whether a conditional branch to .+16 is taken, and nothing else done.
fn taken(machine: &Machine, word: u32) -> bool {
    let mut after = machine.clone();
    emulate(word, PC).run(&mut after, &mut memory()).unwrap();
    let pc = after.get(Reg::PC);
    assert!(matches!(pc, 0x1004 | 0x1010), "{word:#010x}: {pc:#x}");
    changes(machine, word, &[(Reg::PC, pc)]);
    pc == 0x1010
}
