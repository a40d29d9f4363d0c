//! Near branches, through their emulation and undisturbed.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::{Case, Lab, Way};

/// Offset in the code window of a target that is not the next instruction.
const THERE: u64 = 0x8100;

#[test]
fn direct_jumps_and_calls_land_where_they_do_in_place() {
    let mut lab = Lab::x86_64();
    for (name, text) in [
        ("jmp rel8", "eb @code+8040/8"),
        ("jmp rel8 back", "eb @code+7fc0/8"),
        ("jmp rel32", "e9 @code+8100"),
        ("jmp rel32 back", "e9 @code+100"),
        ("bnd jmp", "f2e9 @code+8100"),
        ("call rel32", "e8 @code+8100"),
        ("call rel32 back", "e8 @code+100"),
        ("call next", "e8 00000000"),
        ("bnd call", "f2e8 @code+8100"),
        ("es call", "26e8 @code+8100"),
        ("rex.w call", "48e8 @code+8100"),
        ("66 rex.w call", "6648e8 @code+8100"),
        ("call to nowhere", "e8 00000060"),
    ] {
        lab.check(&Case::new(name, text)).all(Way::Emulated);
    }
}

#[test]
fn conditional_jumps_go_by_the_flags() {
    let mut lab = Lab::x86_64();
    for condition in 0..16 {
        for text in [format!("{:02x} @code+8040/8", 0x70 + condition), format!("0f{:02x} @code+8100", 0x80 + condition)]
        {
            lab.check(&Case::new(&text, &text).seeds(16)).all(Way::Emulated);
        }
    }
    for text in ["2e7410", "3e7510", "f20f84 @code+8100", "360f85 @code+8100"] {
        lab.check(&Case::new(text, text).seeds(8)).all(Way::Emulated);
    }
}

#[test]
fn the_operand_size_prefix_truncates_as_this_vendor_does() {
    let mut lab = Lab::x86_64();
    for text in [
        "66eb40",
        "66e94000",
        "66e9400000000000",
        "66e84000",
        "66e8400000000000",
        "66744000",
        "660f84400000000000",
        "66e24000",
        "66e34000",
        "66c3",
        "66c20800",
        "66ffe0",
        "66ffd0",
        "66ff2424",
        "66ff1424",
        "6648c3",
        "6648ffd0",
    ] {
        // The shorter forms are whole instructions on AMD only.
        if insn::x86::decode(&lab.layout().instruction(text, lab.layout().site()), lab.mode()).is_err() {
            continue;
        }
        let case = Case::new(text, text).seeds(8).with(|s| {
            s.regs.rax = s.layout.code + THERE;
            s.poke(s.regs.rsp, &(s.layout.code + THERE).to_le_bytes());
        });
        lab.check(&case).all(Way::Emulated);
    }
}

#[test]
fn loops_count_in_the_width_of_the_address_size() {
    let mut lab = Lab::x86_64();
    for opcode in ["e0", "e1", "e2", "e3", "67e0", "67e1", "67e2", "67e3", "48e2", "f2e3", "f3e0", "f2e1", "f3f2e0"] {
        let text = format!("{opcode} @code+8040/8");
        for rcx in [0, 1, 2, 0x1_0000_0000, 0x1_0000_0001, 0xffff_ffff, 0xffff_ffff_0000_0001, u64::MAX] {
            lab.check(&Case::new(&text, &text).seeds(4).with(|s| s.regs.rcx = rcx)).all(Way::Emulated);
        }
    }
}

#[test]
fn a_loop_body_is_hit_every_time_round() {
    let mut lab = Lab::x86_64();
    lab.check(&Case::new("loop", "e2fb").before(&["48ffc0"]).with(|s| s.regs.rcx = 50)).all(Way::Emulated);
}

#[test]
fn indirect_branches_read_their_operand_before_they_push() {
    let mut lab = Lab::x86_64();
    let there = |s: &mut crossing::lockstep::State| {
        let to = (s.layout.code + THERE).to_le_bytes();
        for offset in [0, 0x10, 0x1000, 0x1010, 0x2000, 0x2010] {
            s.poke(s.layout.data + offset, &to);
        }
        for offset in [0, 8, 16] {
            s.poke(s.regs.rsp - 8 + offset, &to);
        }
        [s.regs.rax, s.regs.r8, s.regs.r13] = [s.layout.code + THERE; 3];
        [s.regs.rbx, s.regs.r12, s.regs.rbp] = [s.layout.data; 3];
        s.regs.rcx = 2;
    };
    for (name, text) in [
        ("call *%rax", "ffd0"),
        ("call *%r8", "41ffd0"),
        ("notrack jmp *%rax", "3effe0"),
        ("notrack call *%r13", "3e41ffd5"),
        ("bnd jmp *%rax", "f2ffe0"),
        ("call *(%rsp)", "ff1424"),
        ("call *8(%rsp)", "ff542408"),
        ("call *-8(%rsp)", "ff5424f8"),
        ("jmp *(%rsp)", "ff2424"),
        ("call *(%rbx,%rcx,8)", "ff14cb"),
        ("jmp *0x10(%r12)", "41ff642410"),
        ("call *0x10(%rbp)", "ff5510"),
        ("call *data(%rip)", "ff15 @data+10"),
        ("jmp *data(%rip)", "ff25 @data+10"),
        ("call *data(%eip)", "67ff15 @data+10"),
        ("call *%fs:0x10", "64ff142510000000"),
        ("jmp *%gs:0x10", "65ff242510000000"),
        ("call *%fs:(%rbx)", "64ff13"),
        ("call *(%ebx)", "67ff13"),
        ("jmp *%fs:(%ebx)", "6467ff23"),
    ] {
        lab.check(&Case::new(name, text).with(there));
    }
    for text in ["ff1424", "ff542408", "ff5424f8", "ff15 @data+10", "64ff142510000000"] {
        lab.check(&Case::new(text, text).with(there)).all(Way::Emulated).ended(libc::SIGTRAP);
    }
    // rsp is the target before the push, not after it.
    lab.check(&Case::new("call *%rsp", "ffd4")).all(Way::Emulated);
    lab.check(&Case::new("jmp *%rsp", "ffe4")).all(Way::Emulated);
}

#[test]
fn near_returns_free_their_arguments() {
    let mut lab = Lab::x86_64();
    for text in ["c3", "f3c3", "f2c3", "48c3", "c20000", "c21000", "c2ffff", "3ec3", "6648c20400"] {
        let case = Case::new(text, text).with(|s| s.poke(s.regs.rsp, &(s.layout.code + THERE).to_le_bytes()));
        lab.check(&case).all(Way::Emulated).ended(libc::SIGTRAP);
    }
}

#[test]
fn call_and_return_compose() {
    let mut lab = Lab::x86_64();
    let call = Case::new("call; ret", "e8 @code+8100").after(&["48ffc0"]).at(THERE, &["48ffc1", "c3"]);
    lab.check(&call).all(Way::Emulated);
    let ret = Case::new("call; ret", "c3").before(&["e8 @site", "eb10"]);
    lab.check(&ret).all(Way::Emulated).ended(libc::SIGTRAP);
}

#[test]
fn branches_that_fault_fault_as_in_place() {
    let mut lab = Lab::x86_64();
    for (name, text) in [
        ("jmp to a non-canonical register", "ffe0"),
        ("call to a non-canonical register", "ffd0"),
        ("call through a non-canonical address", "ff10"),
        ("jmp through a non-canonical address", "ff20"),
        ("jmp through the stack segment", "ff6500"),
    ] {
        let case = Case::new(name, text).with(|s| {
            s.regs.rax = 0x8000_0000_0000_1234;
            s.regs.rbp = 0x1234_5678_9abc_def0;
        });
        lab.check(&case).all(Way::EmulatedFault);
    }
    for (name, text) in [("call *(%rax)", "ff10"), ("jmp *(%rax)", "ff20"), ("call *8(%rax)", "ff5008")] {
        lab.check(&Case::new(name, text).with(|s| s.regs.rax = 0x1000)).all(Way::EmulatedFault).ended(libc::SIGSEGV);
    }
    // The operand straddles the end of the data.
    let end = |s: &mut crossing::lockstep::State| s.regs.rax = s.layout.data + crossing::lockstep::DATA_SIZE - 3;
    lab.check(&Case::new("straddling", "ff20").with(end)).all(Way::EmulatedFault).ended(libc::SIGSEGV);
    for text in ["e8 @code+8100", "ffd0", "ff15 @data+10", "9c"] {
        for below in [0, 4, 7] {
            let case = Case::new(text, text).with(|s| s.regs.rsp = s.layout.stack + below);
            lab.check(&case).ended(libc::SIGSEGV);
        }
        let case = Case::new(text, text).with(|s| s.regs.rsp = 0x8000_0000_0000);
        lab.check(&case);
    }
    for text in ["c3", "c20800", "9d"] {
        let case = Case::new(text, text).with(|s| s.regs.rsp = s.layout.stack + crossing::lockstep::STACK_SIZE - 4);
        lab.check(&case).all(Way::EmulatedFault).ended(libc::SIGSEGV);
        let case = Case::new(text, text).with(|s| s.regs.rsp = 0xdead_0000_0000_0000);
        lab.check(&case).all(Way::EmulatedFault);
    }
    let case = Case::new("ret to a non-canonical address", "c3").with(|s| s.poke(s.regs.rsp, &[0xde; 8]));
    lab.check(&case).all(Way::EmulatedFault);
}

#[test]
fn alignment_is_checked_where_the_program_asks_for_it() {
    let mut lab = Lab::x86_64();
    for text in ["e8 @code+8100", "ff20", "c3", "9c", "9d", "488b00"] {
        for odd in [1, 2, 4] {
            let case = Case::new(text, text).with(move |s| {
                s.regs.eflags |= 1 << 18;
                s.regs.rsp = s.regs.rsp & !7 | odd;
                s.regs.rax = s.layout.data + odd;
            });
            lab.check(&case).ended(libc::SIGBUS);
        }
    }
}

#[test]
fn a_call_into_the_vsyscall_page_returns() {
    let mut lab = Lab::x86_64();
    // time(NULL) through the page at the top; the answer depends on the clock.
    let case = Case::new("vsyscall", "ffd0").after(&["4831c0", "4831c9", "4d31db"]).with(|s| {
        s.regs.rax = 0xffff_ffff_ff60_0400;
        s.regs.rdi = 0;
    });
    lab.check(&case).all(Way::Emulated);
}

#[test]
fn nops_do_nothing_and_are_no_exchange() {
    let mut lab = Lab::x86_64();
    for text in [
        "90",
        "6690",
        "4890",
        "4090",
        "f290",
        "0f1f00",
        "0f1f440000",
        "660f1f840000000000",
        "2e660f1f840000000000",
        "f30f1efa",
        "f30f1efb",
        "0f1fc0",
        "0f1f05 00000000",
    ] {
        lab.check(&Case::new(text, text)).all(Way::Emulated);
    }
    for text in ["f390", "4990", "4190", "6641 90", "f30f1ec8", "0f0d00", "0f1800", "0f1e00", "0f1cc0"] {
        lab.check(&Case::new(text, text)).all(Way::Boosted);
    }
}

#[test]
fn the_programs_own_breakpoint_is_its_own() {
    let mut lab = Lab::x86_64();
    lab.check(&Case::new("int3", "cc")).all(Way::Emulated).ended(libc::SIGTRAP);
    lab.check(&Case::new("int 3", "cd03")).all(Way::Boosted).ended(libc::SIGTRAP);
    lab.check(&Case::new("int1", "f1")).all(Way::Boosted).ended(libc::SIGTRAP);
}
