//! Where branches go, by mode and vendor.

use insn::x86::{Mode, Reg};
use stepping::x86::{Outcome, Registers};

use crate::emulate;
use crate::machine::{DATA, Machine, STACK, memory};

/// rip after the instruction at 0x1000, done.
fn target(text: &str, mode: Mode, machine: &mut Machine) -> u64 {
    assert_eq!(emulate(text, mode, 0x1000).run(machine, &mut memory()), Ok(Outcome::Done), "{text}");
    machine.get(Reg::RIP)
}

#[test]
fn direct_branches_wrap_in_the_width_of_the_mode() {
    for (text, mode, to) in [
        ("eb10", Mode::INTEL_64, 0x1012),
        ("eb80", Mode::INTEL_64, 0xf82),
        ("e900000080", Mode::INTEL_32, 0x8000_1005),
        ("e9fbefffff", Mode::INTEL_32, 0),
        ("e9faefffff", Mode::INTEL_32, 0xffff_ffff),
        ("66e9fbff", Mode::INTEL_32, 0xfff),
        ("66eb80", Mode::INTEL_32, 0xf83),
        ("66e900f0", Mode::AMD_64, 0x4),
        ("66e9000000f0", Mode::INTEL_64, 0xffff_ffff_f000_1006),
        ("6648e900000010", Mode::AMD_64, 0x1000_1007),
    ] {
        assert_eq!(target(text, mode, &mut Machine::new()), to, "{text} {mode:?}");
    }
}

#[test]
fn calls_push_the_operand_size() {
    for (text, mode, size) in [
        ("e800000010", Mode::INTEL_64, 8),
        ("66e800000010", Mode::INTEL_64, 8),
        ("66e80010", Mode::AMD_64, 2),
        ("e800000010", Mode::AMD_32, 4),
        ("66e80010", Mode::INTEL_32, 2),
        ("66ffd0", Mode::AMD_64, 2),
        ("66ffd0", Mode::INTEL_64, 8),
    ] {
        let (mut machine, mut memory) = (Machine::new(), memory());
        let site = emulate(text, mode, 0x1000);
        assert_eq!(site.run(&mut machine, &mut memory), Ok(Outcome::Done), "{text} {mode:?}");
        let sp = machine.get(Reg::RSP);
        assert_eq!(sp, STACK + 0x80 - size, "{text} {mode:?}");
        let next = 0x1000 + text.len() as u64 / 2;
        let mask = u64::MAX >> (64 - 8 * size);
        assert_eq!(memory.word(sp) & mask, next, "{text} {mode:?}");
        assert_eq!(memory.word(sp + size), crate::machine::memory().word(STACK + 0x80), "{text}: more was written");
    }
}

#[test]
fn the_stack_pointer_of_32_bit_code_wraps() {
    let (mut machine, mut memory) = (Machine::new(), memory());
    memory.0.push((0xffff_fffc, vec![0; 4], true));
    machine.put(Reg::RSP, 0);
    emulate("e800000010", Mode::INTEL_32, 0x1000).run(&mut machine, &mut memory).unwrap();
    assert_eq!(machine.get(Reg::RSP), 0xffff_fffc);
    emulate("c3", Mode::INTEL_32, 0x1000).run(&mut machine, &mut memory).unwrap();
    assert_eq!((machine.get(Reg::RSP), machine.get(Reg::RIP)), (0, 0x1005));
}

#[test]
fn operands_are_read_before_the_push() {
    let (mut machine, mut memory) = (Machine::new(), memory());
    memory.poke(STACK + 0x78, &0x1111_u64.to_le_bytes());
    memory.poke(STACK + 0x80, &0x2222_u64.to_le_bytes());
    for (text, to) in [("ff1424", 0x2222), ("ff5424f8", 0x1111), ("ffd4", STACK + 0x80)] {
        let mut copy = machine.clone();
        emulate(text, Mode::INTEL_64, 0x1000).run(&mut copy, &mut memory.clone()).unwrap();
        assert_eq!(copy.get(Reg::RIP), to, "{text}");
    }
    machine.put(Reg::RSP, STACK + 0x78);
    emulate("ff642408", Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory).unwrap();
    assert_eq!(machine.get(Reg::RIP), 0x2222);
}

#[test]
fn operand_addresses_follow_segment_and_address_size() {
    let mut machine = Machine::new();
    machine
        .put(Reg::RBX, 0xffff_ffff_0000_0000 | DATA)
        .put(Reg::RAX, 2)
        .put(Reg::FS_BASE, 0x40)
        .put(Reg::GS_BASE, 0x48);
    let mut memory = memory();
    for (offset, to) in [(0, 0x10), (0x40, 0x20), (0x48, 0x30), (0x10, 0x50)] {
        memory.poke(DATA + offset, &(to as u64).to_le_bytes());
    }
    for (text, mode, to) in [
        ("67ff23", Mode::INTEL_64, 0x10),
        ("6467ff23", Mode::INTEL_64, 0x20),
        ("6567ff23", Mode::INTEL_64, 0x30),
        ("67ff24c3", Mode::INTEL_64, 0x50),
        ("2e67ff23", Mode::AMD_64, 0x10),
    ] {
        let mut copy = machine.clone();
        emulate(text, mode, 0x1000).run(&mut copy, &mut memory).unwrap();
        assert_eq!(copy.get(Reg::RIP), to, "{text}");
    }
    // rip-relative, from the end of the instruction.
    let distance = (DATA - 0x1006) as u32;
    let text: String =
        ["ff25".to_owned()].into_iter().chain(distance.to_le_bytes().iter().map(|b| format!("{b:02x}"))).collect();
    emulate(&text, Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory).unwrap();
    assert_eq!(machine.get(Reg::RIP), 0x10);
}

#[test]
fn tags_that_the_processor_ignores_are_ignored() {
    let mut machine = Machine::new();
    machine.put(Reg::RBX, DATA | 0x2a << 57);
    machine.tag_mask = u64::MAX >> 7;
    let expected = memory().word(DATA);
    machine.address_bits = 64;
    emulate("ff23", Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory()).unwrap();
    assert_eq!(machine.get(Reg::RIP), expected);
}

#[test]
fn conditions_are_those_of_the_manual() {
    // Flag bits that make the even condition true.
    let cases = [
        (0, 1 << 11),
        (2, 1),
        (4, 1 << 6),
        (6, 1 << 6),
        (6, 1),
        (8, 1 << 7),
        (10, 1 << 2),
        (12, 1 << 7),
        (12, 1 << 11),
        (14, 1 << 6),
    ];
    for (condition, flags) in cases {
        for (odd, taken) in [(0, true), (1, false)] {
            let mut machine = Machine::new();
            machine.put(Reg::FLAGS, 2 | flags);
            let to = target(&format!("{:02x}10", 0x70 + condition + odd), Mode::INTEL_64, &mut machine);
            assert_eq!(to == 0x1012, taken, "{condition}+{odd} {flags:#x}");
        }
    }
}

#[test]
fn conditions_do_not_hold_by_flags_of_others() {
    // Flag bits that make the even condition false.
    let (zf, sf, of) = (1 << 6, 1 << 7, 1 << 11);
    let cases = [
        (0, zf),
        (2, zf),
        (4, sf),
        (6, sf),
        (8, zf),
        (8, of),
        (10, zf),
        (12, zf),
        (12, sf | of),
        (14, 0),
        (14, sf | of),
    ];
    for (condition, flags) in cases {
        let mut machine = Machine::new();
        machine.put(Reg::FLAGS, 2 | flags);
        let to = target(&format!("{:02x}10", 0x70 + condition), Mode::INTEL_64, &mut machine);
        assert_eq!(to, 0x1002, "{condition} {flags:#x}");
    }
}

#[test]
fn loops_while_zero_end_with_the_count_or_the_flag() {
    for (text, rcx, flags, taken) in [
        ("e110", 5, 1 << 6, true),
        ("e110", 1, 1 << 6, false),
        ("e110", 5, 0, false),
        ("e110", 1, 0, false),
        ("e010", 5, 0, true),
        ("e010", 1, 0, false),
        ("e010", 5, 1 << 6, false),
        ("e010", 1, 1 << 6, false),
    ] {
        let mut machine = Machine::new();
        machine.put(Reg::RCX, rcx).put(Reg::FLAGS, 2 | flags);
        assert_eq!(target(text, Mode::INTEL_64, &mut machine) == 0x1012, taken, "{text} {rcx} {flags:#x}");
    }
}

#[test]
fn loops_count_in_the_address_size() {
    for (text, mode, rcx, after, taken) in [
        ("e210", Mode::INTEL_64, 0, u64::MAX, true),
        ("e210", Mode::INTEL_64, 1, 0, false),
        ("67e210", Mode::INTEL_64, 0x5_0000_0000, 0xffff_ffff, true),
        ("67e210", Mode::INTEL_64, 0x5_0000_0001, 0, false),
        ("67e210", Mode::INTEL_32, 0x1_0000, 0x1_ffff, true),
        ("67e210", Mode::INTEL_32, 0x5_0001, 0x5_0000, false),
        ("e310", Mode::INTEL_64, 0x1_0000_0000, 0x1_0000_0000, false),
        ("67e310", Mode::INTEL_64, 0x1_0000_0000, 0x1_0000_0000, true),
        ("67e310", Mode::INTEL_32, 0x1_0000, 0x1_0000, true),
        ("e110", Mode::INTEL_64, 5, 4, false),
        ("e010", Mode::INTEL_64, 5, 4, true),
        ("f3e010", Mode::INTEL_64, 5, 4, true),
        ("f3e010", Mode::AMD_64, 5, 4, false),
        ("f2e110", Mode::AMD_64, 5, 4, true),
        ("f2f3e110", Mode::AMD_64, 5, 4, false),
    ] {
        let mut machine = Machine::new();
        machine.put(Reg::RCX, rcx);
        let to = target(text, mode, &mut machine);
        let next = 0x1000 + text.len() as u64 / 2;
        assert_eq!(
            (machine.get(Reg::RCX), to),
            (after, if taken { next + 0x10 } else { next }),
            "{text} {mode:?} {rcx:#x}"
        );
    }
}

#[test]
fn returns_free_their_arguments() {
    for (text, mode, size, freed) in [
        ("c3", Mode::INTEL_64, 8, 0),
        ("c21000", Mode::INTEL_64, 8, 16),
        ("c2ffff", Mode::INTEL_32, 4, 0xffff),
        ("66c3", Mode::AMD_64, 2, 0),
        ("66c3", Mode::INTEL_64, 8, 0),
        ("66c20200", Mode::INTEL_32, 2, 2),
    ] {
        let (mut machine, mut memory) = (Machine::new(), memory());
        memory.poke(STACK + 0x80, &0x1234_u64.to_le_bytes());
        emulate(text, mode, 0x1000).run(&mut machine, &mut memory).unwrap();
        assert_eq!(
            (machine.get(Reg::RIP), machine.get(Reg::RSP)),
            (0x1234, STACK + 0x80 + size + freed),
            "{text} {mode:?}"
        );
    }
}

#[test]
fn absolute_jumps_want_apx() {
    let site = emulate("d500a1 8877665544330000", Mode::INTEL_64, 0x1000);
    let mut machine = Machine::new();
    assert_eq!(site.run(&mut machine, &mut memory()), Err(stepping::Fault::Undefined));
    machine.apx = true;
    assert_eq!(site.run(&mut machine, &mut memory()), Ok(Outcome::Done));
    assert_eq!(machine.get(Reg::RIP), 0x3344_5566_7788);
}

#[test]
fn the_programs_trap_flag_owes_it_a_trap() {
    for text in ["90", "eb10", "7410", "c3", "9c"] {
        let mut machine = Machine::new();
        machine.put(Reg::FLAGS, 0x302);
        let mut memory = memory();
        memory.poke(STACK + 0x80, &[0; 8]);
        let site = emulate(text, Mode::INTEL_64, 0x1000);
        assert_eq!(site.run(&mut machine, &mut memory), Ok(Outcome::SingleStep), "{text}");
    }
    let mut machine = Machine::new();
    assert_eq!(emulate("cc", Mode::INTEL_64, 0x1000).run(&mut machine, &mut memory()), Ok(Outcome::Breakpoint));
    assert_eq!(machine.get(Reg::RIP), 0x1001);
}
