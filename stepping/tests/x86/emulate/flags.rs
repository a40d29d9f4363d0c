//! What user mode sees of the flags and what it can change.

use insn::x86::{Flags, Mode, Reg};
use stepping::x86::{Exit, Outcome, Registers};

use crate::emulate;
use crate::machine::{Machine, STACK, memory};

#[test]
fn pushf_hides_resume_and_virtual_8086() {
    for (text, mode, size) in [
        ("9c", Mode::INTEL_64, 8),
        ("669c", Mode::INTEL_64, 2),
        ("66489c", Mode::AMD_64, 8),
        ("9c", Mode::INTEL_32, 4),
        ("669c", Mode::AMD_32, 2),
    ] {
        let (mut machine, mut memory) = (Machine::new(), memory());
        machine.put(Reg::FLAGS, 0x27_4ed7);
        emulate(text, mode, 0x1000).run(&mut machine, &mut memory).unwrap();
        let sp = STACK + 0x80 - size;
        assert_eq!(machine.get(Reg::RSP), sp);
        let mask = u64::MAX >> (64 - 8 * size);
        assert_eq!(memory.word(sp) & mask, 0x24_4ed7 & mask, "{text} {mode:?}");
        assert_eq!(machine.get(Reg::FLAGS), 0x27_4ed7, "the flags themselves stay");
    }
}

/// The flags after popping `value` over `old`.
fn popf(text: &str, mode: Mode, old: u64, value: u64) -> u64 {
    let (mut machine, mut memory) = (Machine::new(), memory());
    machine.put(Reg::FLAGS, old);
    memory.poke(STACK + 0x80, &value.to_le_bytes());
    emulate(text, mode, 0x1000).run(&mut machine, &mut memory).unwrap();
    machine.get(Reg::FLAGS)
}

#[test]
fn popf_changes_what_user_mode_may() {
    for mode in [Mode::INTEL_64, Mode::AMD_64, Mode::INTEL_32] {
        assert_eq!(popf("9d", mode, 0x202, u64::MAX), 0x24_4fd7, "{mode:?}");
        assert_eq!(popf("9d", mode, 0x27_4fd7, 0), 0x2_0202, "{mode:?}");
        assert_eq!(popf("669d", mode, 0x202, u64::MAX), 0x4fd7, "{mode:?}");
        assert_eq!(popf("669d", mode, 0x24_4fd7, 0), 0x24_0202, "{mode:?}");
        // With I/O privilege interrupts too.
        assert_eq!(popf("9d", mode, 0x3202, 0), 0x3002, "{mode:?}");
    }
}

#[test]
fn popf_of_a_flag_out_of_reach_runs_the_copy() {
    let (mut machine, mut memory) = (Machine::new(), memory());
    machine.settable = Flags::from_bits(!Flags::ID.bits());
    memory.poke(STACK + 0x80, &0x20_0202_u64.to_le_bytes());
    let before = (machine.clone(), memory.clone());
    let site = emulate("9d", Mode::INTEL_64, 0x1000);
    assert_eq!(site.run(&mut machine, &mut memory), Ok(Outcome::Slot));
    assert_eq!((machine.clone(), memory.clone()), before);
    // A trap flag that it sets is pending behind the int3, not behind a jump.
    assert_eq!(site.slot().assemble(0x2000).unwrap().exit, Exit::Trap(1));
    memory.poke(STACK + 0x80, &0x0242_u64.to_le_bytes());
    assert_eq!(site.run(&mut machine.clone(), &mut memory), Ok(Outcome::Done));
    // One that stays as it is need not be within reach.
    machine.put(Reg::FLAGS, 0x20_0202);
    memory.poke(STACK + 0x80, &0x20_0242_u64.to_le_bytes());
    assert_eq!(site.run(&mut machine, &mut memory), Ok(Outcome::Done));
}
