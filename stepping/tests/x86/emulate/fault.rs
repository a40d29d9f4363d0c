//! Faults, and that they change nothing.

use insn::x86::{Mode, Reg};
use stepping::Fault;

use crate::machine::{DATA, Machine, Pieces, STACK, memory};
use crate::{emulate, hex};

/// Runs the instruction, which must fault and change nothing.
fn fault(text: &str, mode: Mode, machine: &Machine, memory: &Pieces) -> Fault {
    let (mut registers, mut pieces) = (machine.clone(), memory.clone());
    let fault = emulate(text, mode, 0x1000).run(&mut registers, &mut pieces).expect_err(text);
    assert_eq!((&registers, &pieces), (machine, memory), "{text} changed something");
    fault
}

#[test]
fn memory_that_is_not_there_faults() {
    let mut machine = Machine::new();
    machine.put(Reg::RAX, 0x9000);
    for text in ["ff10", "ff20"] {
        assert_eq!(fault(text, Mode::INTEL_64, &machine, &memory()), Fault::Page(0x9000));
    }
    machine.put(Reg::RSP, 0x9000);
    for (text, at) in
        [("e800000000", 0x8ff8), ("ffd0", 0x8ff8), ("9c", 0x8ff8), ("9d", 0x9000), ("c3", 0x9000), ("c20800", 0x9000)]
    {
        assert_eq!(fault(text, Mode::INTEL_64, &machine, &memory()), Fault::Page(at), "{text}");
    }
}

#[test]
fn a_stack_that_cannot_be_written_faults() {
    let mut pieces = memory();
    pieces.0[0].2 = false;
    for text in ["e800000000", "ffd0", "9c"] {
        assert_eq!(fault(text, Mode::INTEL_64, &Machine::new(), &pieces), Fault::Page(STACK + 0x78), "{text}");
    }
}

#[test]
fn targets_and_operands_must_be_canonical() {
    let mut machine = Machine::new();
    machine.put(Reg::RAX, 0x8000_0000_0000);
    for text in ["ffe0", "ffd0", "ff10", "ff20"] {
        assert_eq!(fault(text, Mode::INTEL_64, &machine, &memory()), Fault::NonCanonical(0x8000_0000_0000), "{text}");
    }
    let mut pieces = memory();
    pieces.poke(STACK + 0x80, &[0, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(fault("c3", Mode::INTEL_64, &machine, &pieces), Fault::NonCanonical(1 << 48));
    let mut machine = Machine::new();
    machine.put(Reg::RAX, 0x7fff_ffff_fffc);
    assert_eq!(fault("ff20", Mode::INTEL_64, &machine, &memory()), Fault::NonCanonical(0x7fff_ffff_fffc));
    machine.put(Reg::RAX, 0x8000_0000_0000);
    // With five-level paging they are.
    machine.address_bits = 57;
    assert_eq!(fault("ff20", Mode::INTEL_64, &machine, &memory()), Fault::Page(0x8000_0000_0000));
    assert!(emulate("ffe0", Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory()).is_ok());
}

#[test]
fn outside_64_bit_mode_null_selectors_reach_no_memory() {
    for selector in 0..4 {
        let mut machine = Machine::new();
        machine.put(Reg::RAX, DATA).put(Reg::DS, selector);
        assert_eq!(fault("ff20", Mode::INTEL_32, &machine, &memory()), Fault::NullSelector(selector as u16));
    }
    let mut machine = Machine::new();
    machine.put(Reg::RAX, DATA).put(Reg::DS, 4);
    assert!(emulate("ff20", Mode::INTEL_32, 0x1000).run(&mut machine, &mut memory()).is_ok());
}

#[test]
fn direct_branches_over_the_canonical_edge_fault() {
    let site = 0x7fff_ffff_eff0;
    for text in ["e900ffff7f", "e800ffff7f", "0f8400ffff7f"] {
        let (mut machine, mut pieces) = (Machine::new(), memory());
        machine.put(Reg::FLAGS, 0x242);
        let before = (machine.clone(), pieces.clone());
        let fault = emulate(text, Mode::INTEL_64, site).run(&mut machine, &mut pieces);
        assert!(matches!(fault, Err(Fault::NonCanonical(_))), "{text}: {fault:?}");
        assert_eq!((machine, pieces), before);
    }
}

#[test]
fn alignment_is_checked_only_where_asked_for() {
    let mut machine = Machine::new();
    machine.put(Reg::RAX, DATA + 1).put(Reg::RSP, STACK + 0x81);
    for text in ["9c", "e800000000"] {
        assert!(emulate(text, Mode::INTEL_64, 0x1000).run(&mut machine.clone(), &mut memory()).is_ok());
    }
    machine.put(Reg::FLAGS, 0x4_0202);
    for (text, at) in [
        ("ff20", DATA + 1),
        ("9c", STACK + 0x79),
        ("9d", STACK + 0x81),
        ("c3", STACK + 0x81),
        ("e800000000", STACK + 0x79),
    ] {
        assert_eq!(fault(text, Mode::INTEL_64, &machine, &memory()), Fault::Alignment(at), "{text}");
    }
}

#[test]
fn null_selectors_fault_outside_64_bit_mode() {
    let mut machine = Machine::new();
    machine.put(Reg::RAX, DATA).put(Reg::FS, 3).put(Reg::DS, 0);
    assert_eq!(fault("64ff20", Mode::INTEL_32, &machine, &memory()), Fault::NullSelector(3));
    assert_eq!(fault("ff20", Mode::INTEL_32, &machine, &memory()), Fault::NullSelector(0));
    memory().poke(DATA, &[0; 8]);
    machine.put(Reg::FS_BASE, 0x9000);
    assert_eq!(fault("64ff20", Mode::INTEL_64, &machine, &memory()), Fault::Page(DATA + 0x9000));
}

#[test]
fn the_slot_of_a_faulting_branch_is_its_copy_unless_its_target_depends_on_where_it_runs() {
    let slot = |text, mode| {
        let code = emulate(text, mode, 0x1000).slot().assemble(0x2000).unwrap();
        code.bytes[..usize::from(code.len)].to_vec()
    };
    // AMD's 66 makes the target 16 bits wide, and 32-bit targets never fault: those are copied.
    for (text, mode) in [("66e80001", Mode::AMD_64), ("e800010000", Mode::INTEL_32), ("ff20", Mode::INTEL_64)] {
        assert_eq!(slot(text, mode), hex(text), "{text}");
    }
    assert_eq!(slot("e800010000", Mode::INTEL_64)[..2], [0xff, 0x15]);
    assert_eq!(slot("e900010000", Mode::INTEL_64)[..2], [0xff, 0x25]);
}
