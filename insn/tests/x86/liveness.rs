//! What code does not need of the values before it.

use super::hex;
use insn::x86::{Dead, Flags, Mode, Reg, RegSet, dead, dead_among, decode};
use insn::{Flow, Target};

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
fn a_scan_ends_after_48_instructions_and_with_nine_branches_that_wait() {
    // nop, many times; mov ecx, 1; cmp eax, ecx
    for (count, is_dead) in [(46, true), (48, false)] {
        let code = hex(&format!("{} b901000000 39c8", "90".repeat(count)));
        let mut wanted = Dead::default();
        wanted.flags = Flags::STATUS;
        assert_eq!(dead_among(&code, 0, Mode::INTEL_64, wanted).flags.contains(Flags::ZF), is_dead, "{count}");
        assert_eq!(dead(&code, 0, Mode::INTEL_64).registers.contains(Reg::RCX), is_dead, "{count}");
    }
    let nops = hex(&format!("{} 39c8", "90".repeat(47)));
    assert!(dead(&nops, 0, Mode::INTEL_64).flags.contains(Flags::ZF));
    // jne 1f, many times; 1: mov ecx, 1
    for (count, is_dead) in [(8, true), (9, false)] {
        let branches: String = (0..count).rev().map(|after| format!("75{:02x}", 2 * after)).collect();
        let code = hex(&format!("{branches} b901000000"));
        let mut wanted = Dead::default();
        wanted.registers = RegSet::EMPTY.with(Reg::RCX);
        assert_eq!(dead_among(&code, 0, Mode::INTEL_64, wanted) == wanted, is_dead, "{count}");
    }
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
#[test]
fn what_one_path_needs_is_no_longer_looked_for_on_others() {
    // jo 1f; jo 2f; setc al; test eax, eax; ret; 1: test eax, eax; ret; 2: inc eax, and many nops, behind which the carry flag is overwritten
    let code = hex(&format!("700a 700b 0f92c0 85c0 c3 9090 85c0 c3 ffc0 {} 85c0", "90".repeat(60)));
    let mut wanted = Dead::default();
    wanted.flags = Flags::CF.union(Flags::ZF);
    // The carry flag is needed by `setc`. A search for it behind 2 would leave too few instructions for the way to 1.
    assert_eq!(dead_among(&code, 0, Mode::INTEL_64, wanted).flags, Flags::ZF);
}

/// What the documentation of [`dead_among`] says, with no regard to time: the flags and registers among those wanted that code needs.
fn needed(code: &[u8], offset: usize, mode: Mode, wanted: (Flags, RegSet)) -> (Flags, RegSet) {
    let (mut needed, mut paths, mut left) = ((Flags::EMPTY, RegSet::EMPTY), vec![(offset, wanted)], 48);
    while let Some((mut at, (mut flags, mut registers))) = paths.pop() {
        flags = flags.difference(needed.0);
        registers = registers.difference(needed.1);
        while !flags.is_empty() || !registers.is_empty() {
            let insn = code.get(at..).and_then(|rest| decode(rest, mode).ok()).filter(|_| left > 0);
            let mut next = None;
            if let Some(insn) = insn {
                left -= 1;
                needed.0 = needed.0.union(flags.intersection(insn.flags_read()));
                needed.1 = needed.1.union(registers.intersection(insn.reads()));
                flags = flags.difference(insn.flags_read().union(insn.flags_overwritten()));
                registers = registers.difference(insn.reads().union(insn.overwrites()));
                let end = at + insn.len();
                let target = match insn.target() {
                    Target::Relative(distance) => end.checked_add_signed(distance as isize),
                    _ => None,
                };
                // A target that is cut to 16 bits depends on where the code lies.
                let is_cut = insn.operand_size() == 2;
                next = match (insn.flow(), target.filter(|_| !is_cut)) {
                    (Flow::Next, _) => Some(end),
                    (Flow::Jump | Flow::Call, target) => target,
                    (Flow::ConditionalJump, Some(target)) if paths.len() < 8 => {
                        paths.push((target, (flags, registers)));
                        Some(end)
                    }
                    _ => None,
                };
            }
            match next {
                Some(next) => at = next,
                None => {
                    needed = (needed.0.union(flags), needed.1.union(registers));
                    break;
                }
            }
        }
    }
    needed
}

#[test]
fn a_scan_tells_what_its_documentation_says_of_random_code() {
    // What random bytes seldom have: branches, flags that are read or kept, counts, prefixes.
    const PIECES: [&[u8]; 16] = [
        &[0x0f, 0x84],
        &[0x74, 2],
        &[0xeb, 1],
        &[0xe8, 3, 0, 0, 0],
        &[0x48, 0xc1, 0xe0],
        &[0x0f, 0xa4],
        &[0xd3],
        &[0xc0],
        &[0xf7],
        &[0x83],
        &[0xff],
        &[0x66],
        &[0xf3, 0x0f],
        &[0x64, 0x48],
        &[0x0f, 0x05],
        &[0xc3],
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    };
    let considered = (Flags::STATUS.union(Flags::DF), RegSet::from_bits((1 << 80) - 1).without(Reg::RSP));
    let mut unneeded = [0, 0];
    for _ in 0..60_000 {
        let mut code = Vec::new();
        while code.len() < 100 {
            let chosen = random();
            match chosen & 7 {
                0..3 => code.extend(PIECES[(chosen >> 8) as usize & 15]),
                3 => code.push((chosen >> 8) as u8 & 15),
                _ => code.push((chosen >> 8) as u8),
            }
        }
        let at = random() as usize % code.len();
        let mode = [Mode::INTEL_64, Mode::AMD_64, Mode::INTEL_64, Mode::INTEL_32][random() as usize & 3];
        let registers = RegSet::from_bits(u128::from(random()) << 24 | u128::from(random()));
        let few = Flags::from_bits(random() as u32);
        for (flags, registers) in [
            (Flags::STATUS, RegSet::EMPTY),
            (few, RegSet::EMPTY),
            (few, RegSet::EMPTY.with(Reg::RAX)),
            (few, registers),
        ] {
            let mut wanted = Dead::default();
            (wanted.flags, wanted.registers) = (flags, registers);
            let told = dead_among(&code, at, mode, wanted);
            let asked = (flags.intersection(considered.0), registers.intersection(considered.1));
            let needed = needed(&code, at, mode, asked);
            let expected = (asked.0.difference(needed.0), asked.1.difference(needed.1));
            assert_eq!((told.flags, told.registers), expected, "{mode:?}, {at}: {code:02x?}");
            unneeded[0] += u32::from(!told.flags.is_empty());
            unneeded[1] += u32::from(!told.registers.is_empty());
        }
    }
    assert!(unneeded.iter().all(|count| *count > 5_000), "{unneeded:?}");
}
