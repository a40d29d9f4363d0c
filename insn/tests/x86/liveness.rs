//! What code does not need of the values before it.

use super::hex;
use insn::x86::{Dead, Flags, Mode, Reg, RegSet, dead, dead_among};

fn of(text: &str) -> Dead {
    dead(&hex(text), 0, Mode::INTEL_64)
}

#[test]
fn what_is_overwritten_before_it_is_read_is_dead() {
    // xor eax, eax; mov ecx, edx; ret
    let dead = of("31c0 89d1 c3");
    assert!(dead.registers.contains(Reg::RCX) && !dead.registers.contains(Reg::RDX));
    assert!(dead.flags.contains(Flags::CF) && !dead.flags.contains(Flags::AF));
    // The manual's operation has eax read.
    assert!(!dead.registers.contains(Reg::RAX));
}

#[test]
fn what_is_written_in_part_is_not_dead() {
    // mov al, 1; ret. shl ecx, cl; ret. movss xmm0, xmm1; ret.
    assert!(!of("b001 c3").registers.contains(Reg::RAX));
    assert!(of("d3e1 c3").flags.is_empty());
    assert!(!of("f30f10c1 c3").registers.contains(Reg::vector(0)));
}

#[test]
fn both_ways_of_a_branch_must_agree() {
    // je 1f; mov eax, 1; ret; 1: mov eax, 2; mov ecx, 2; ret
    let dead = of("7406 b801000000 c3 b802000000 b902000000 c3");
    assert!(dead.registers.contains(Reg::RAX) && !dead.registers.contains(Reg::RCX));
    assert!(!dead.flags.contains(Flags::ZF));
}

#[test]
fn a_loop_ends_the_search() {
    // 1: jmp 1b
    let dead = of("ebfe");
    assert!(dead.registers.is_empty() && dead.flags.is_empty());
    // 1: inc eax; loop 1b
    assert!(!of("ffc0 e2fc").registers.contains(Reg::RCX));
}

#[test]
fn a_branch_that_cuts_the_instruction_pointer_needs_all() {
    // jmp +0 with 66; mov eax, 1; ret: AMD cuts the target to 16 bits, Intel ignores the prefix.
    let code = hex("66e90000 b801000000 c3");
    assert!(dead(&code, 0, Mode::AMD_64).registers.is_empty());
    let code = hex("66e900000000 b801000000 c3");
    assert!(dead(&code, 0, Mode::INTEL_64).registers.contains(Reg::RAX));
}

#[test]
fn what_leaves_the_code_needs_all() {
    // jmp beyond the end; an indirect call; an interrupt; bytes that are no instruction; nothing
    for text in ["e900100000", "ffd0", "cd80", "0f0b", "06", ""] {
        let dead = of(text);
        assert!(dead.registers.is_empty() && dead.flags.is_empty(), "{text}: {dead:?}");
    }
    // syscall overwrites these two, and the kernel sees all others.
    let dead = of("0f05");
    assert_eq!(dead.registers, insn::x86::RegSet::EMPTY.with(Reg::RCX).with(Reg::gpr(11)));
    assert!(dead.flags.is_empty());
}

#[test]
fn many_branches_are_given_up() {
    // test eax, eax; jne +0, twenty times; mov ecx, 1; ret
    let text = format!("85c0 {} b901000000 c3", "7500".repeat(20));
    let dead = of(&text);
    assert!(dead.flags.contains(Flags::ZF) && !dead.registers.contains(Reg::RCX));
}

#[test]
fn a_narrower_question_has_the_same_answer_for_what_it_asks() {
    for text in ["31c0 89d1 c3", "7406 b801000000 c3 b802000000 b902000000 c3", "d3e1 c3", "ebfe", "4839f7 7500 c3"] {
        let whole = of(text);
        let mut wanted = Dead::default();
        wanted.flags = Flags::ZF.union(Flags::CF);
        wanted.registers = RegSet::EMPTY.with(Reg::RAX).with(Reg::RCX).with(Reg::RSP);
        let told = dead_among(&hex(text), 0, Mode::INTEL_64, wanted);
        assert_eq!(told.flags, whole.flags.intersection(wanted.flags), "{text}");
        assert_eq!(told.registers, whole.registers.intersection(wanted.registers), "{text}");
    }
}

#[test]
fn what_is_not_asked_does_not_use_up_the_scan() {
    // jrcxz 1f; add eax, ebx; 60 times nop; ret; 1: add eax, ebx; ret
    let code = hex(&format!("e33f 01d8 {} c3 01d8 c3", "90 ".repeat(60)));
    let mut wanted = Dead::default();
    wanted.flags = Flags::STATUS;
    assert_eq!(dead_among(&code, 0, Mode::INTEL_64, wanted), wanted);
    assert!(
        dead(&code, 0, Mode::INTEL_64).flags.is_empty(),
        "the scan of all registers is longer than this test thinks"
    );
}
