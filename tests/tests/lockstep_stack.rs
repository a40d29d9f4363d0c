//! Flags on the stack, frames, selectors and far transfers, through their plans and undisturbed.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::{Case, IMAGE_INT3, Lab, Placement, State, Way};

const TF: u64 = 1 << 8;
const RED_ZONE: std::ops::Range<usize> = 1..129;

#[test]
fn pushf_shows_the_programs_flags_and_no_trap_flag_of_ours() {
    let mut lab = Lab::x86_64();
    for text in ["9c", "669c", "489c", "66489c", "f29c", "2e9c"] {
        lab.check(&Case::new(text, text).seeds(16)).all(Way::Emulated).ended(libc::SIGTRAP);
        let more = |s: &mut State| s.regs.eflags |= 0x4_4000;
        lab.check(&Case::new(text, text).after(&["58"]).with(more).with(|s| s.regs.rsp &= !7)).all(Way::Emulated);
    }
}

#[test]
fn popf_changes_what_user_mode_may_change() {
    let mut lab = Lab::x86_64();
    for text in ["9d", "669d", "489d", "66489d", "f39d"] {
        // Random flags, with and without what ptrace cannot set (ID) and what takes effect at once (TF).
        for keep in [!(TF | 1 << 18), !(TF | 1 << 18 | 1 << 21), 0, u64::MAX] {
            let case = Case::new(text, text).seeds(16).after(&["90", "90"]).with(|s| {
                let random = u64::from_le_bytes(s.data[..8].try_into().expect("eight bytes"));
                s.poke(s.regs.rsp, &(random & keep).to_le_bytes());
            });
            lab.check(&case);
        }
        let flip = |s: &mut State| s.poke(s.regs.rsp, &(s.regs.eflags ^ 1 << 21).to_le_bytes());
        let check = lab.check(&Case::new("popf of ID", text).with(flip).after(&["9c"]));
        if !text.starts_with("669d") {
            check.all(Way::Trapped);
        }
    }
}

#[test]
fn popf_that_sets_the_trap_flag_traps_after_the_next_instruction() {
    let mut lab = Lab::x86_64();
    for text in ["9d", "669d"] {
        let case = Case::new(text, text)
            .after(&["48ffc0", "48ffc0"])
            .with(|s| s.poke(s.regs.rsp, &[0x46, 0x03, 0, 0, 0, 0, 0, 0]));
        lab.check(&case).all(Way::Emulated).ended(libc::SIGTRAP);
    }
}

#[test]
fn a_program_that_steps_itself_traps_after_the_probed_instruction() {
    let mut lab = Lab::x86_64();
    for text in ["90", "48ffc0", "9c", "9d", "e8 @code+8100", "eb10", "e210", "c3", "488b05 @data+10", "f3a4", "0fa2"] {
        let case = Case::new(text, text).after(&["48ffc1", "48ffc1"]).with(|s| {
            // As the program would: by popf.
            s.regs.eflags |= TF;
            s.regs.rcx = 3;
            [s.regs.rsi, s.regs.rdi] = [s.layout.data, s.layout.data + 64];
            s.poke(s.regs.rsp, &(s.layout.code + 0x202).to_le_bytes());
        });
        lab.check(&case).ended(libc::SIGTRAP);
    }
}

#[test]
fn a_program_that_steps_itself_is_trapped_where_the_processor_or_the_kernel_traps_it() {
    let mut lab = Lab::x86_64();
    // A load of ss and a system call hold the trap off; so does the kernel where it stands in for an instruction (UMIP).
    for text in ["8ed0", "0f01e0", "0f00c0", "0f00c8", "0f0103", "0f010b", "0f0123", "8ec0", "0f01d0", "4889c8", "0f05"]
    {
        let case = Case::new(text, text).after(&["90", "90", "90"]).with(|s| {
            s.regs.eflags |= TF;
            s.regs.rbx = s.layout.data;
            (s.regs.rax, s.regs.rcx) = (if text == "0f05" { 0x2000_0000 } else { 0x2b }, 0);
        });
        lab.check(&case).ended(libc::SIGTRAP);
    }
}

#[test]
fn the_red_zone_stays_as_it_is() {
    let mut lab = Lab::x86_64();
    for text in ["48ffc0", "90", "eb10", "488b05 @data+10", "0fa2", "480fa505 @data+10", "9d", "c3", "e210"] {
        let case = Case::new(text, text).with(|s| {
            let at = (s.regs.rsp - s.layout.stack) as usize;
            for below in RED_ZONE {
                s.stack[at - below] = below as u8;
            }
            s.poke(s.regs.rsp, &(s.layout.code + 0x246).to_le_bytes());
        });
        lab.check(&case);
    }
}

#[test]
fn pushes_pops_and_frames_use_the_stack_as_in_place() {
    let mut lab = Lab::x86_64();
    for text in [
        "50",
        "4150",
        "54",
        "58",
        "5c",
        "415f",
        "6a80",
        "6812345678",
        "6650",
        "6658",
        "ff3424",
        "8f0424",
        "ff742408",
        "8f442408",
        "ff35 @data+10",
        "8f05 @data+20",
        "c8100000",
        "c8200003",
        "c810001f",
        "66c8100001",
        "c9",
        "66c9",
        "0fa0",
        "0fa8",
        "0fa9",
        "4889e0",
        "488d642480",
        "4894",
    ] {
        let case = Case::new(text, text).with(|s| s.regs.rbp = s.regs.rsp + 0x40);
        lab.check(&case).passed(Placement::Near, Way::Boosted);
    }
}

#[test]
fn loading_the_stack_segment_runs_no_instruction_too_many() {
    let mut lab = Lab::x86_64();
    let ss = |s: &mut State| s.regs.rax = s.regs.ss;
    for text in ["8ed0", "488ed0", "668ed0"] {
        lab.check(&Case::new(text, text).with(ss).after(&["48ffc0", "48ffc0"])).all(Way::Boosted).ended(libc::SIGTRAP);
    }
    let pushf = Case::new("mov %eax, %ss; pushf", "8ed0").with(ss).after(&["9c", "59"]);
    lab.check(&pushf).all(Way::Boosted);
    let bad = Case::new("mov of a bad selector", "8ed0").with(|s| s.regs.rax = 0x1234);
    lab.check(&bad).ended(libc::SIGSEGV);
    let memory = Case::new("mov data, %ss", "8e15 @data+10")
        .with(|s| s.poke(s.layout.data + 0x10, &(s.regs.ss as u16).to_le_bytes()));
    lab.check(&memory).passed(Placement::Near, Way::Boosted).passed(Placement::Far, Way::Trapped);
    for text in ["8ed8", "8ec0", "8ee0", "8ee8"] {
        lab.check(&Case::new(text, text).with(|s| s.regs.rax = 0)).all(Way::Boosted);
    }
}

/// Puts a far pointer to `code+8100` at the data's and the stack's start, and an `iretq` frame.
fn frames(s: &mut State) {
    let there = s.layout.code + 0x8100;
    let mut far = there.to_le_bytes().to_vec();
    far.extend(s.regs.cs.to_le_bytes());
    far.extend(s.regs.eflags.to_le_bytes());
    far.extend((s.regs.rsp + 0x80).to_le_bytes());
    far.extend(s.regs.ss.to_le_bytes());
    s.poke(s.regs.rsp, &far);
    // m16:32 reaches only the low 4 GiB, where the image's own int3 lies; m16:64 is Intel's.
    let mut low = (IMAGE_INT3 as u32).to_le_bytes().to_vec();
    low.extend((s.regs.cs as u16).to_le_bytes());
    s.poke(s.layout.data + 0x10, &low);
    s.poke(s.layout.data + 0x20, &far[..16]);
    s.regs.rbx = s.layout.data + 0x10;
}

#[test]
fn far_returns_leave_for_good() {
    let mut lab = Lab::x86_64();
    for text in ["48cb", "48ca1000", "48cf"] {
        lab.check(&Case::new(text, text).with(frames)).all(Way::Boosted).ended(libc::SIGTRAP);
    }
    for text in ["cb", "cf", "66cb"] {
        lab.check(&Case::new(text, text).with(frames));
    }
}

#[test]
fn far_jumps_and_calls_push_the_original_address() {
    let mut lab = Lab::x86_64();
    for (name, text) in [
        ("far jump", "ff2b"),
        ("far call", "ff1b"),
        ("far call, rip-relative", "ff1d @data+10"),
        ("far jump, rip-relative", "ff2d @data+10"),
        ("16-bit far call", "66ff1b"),
        ("rex.w far call", "48ff1d @data+20"),
        ("rex.w far jump", "48ff2d @data+20"),
        ("far call of a bad selector", "ff1d @data+30"),
    ] {
        lab.check(&Case::new(name, text).with(frames));
    }
    lab.check(&Case::new("far call", "ff1b").with(frames)).all(Way::Stepped).ended(libc::SIGTRAP);
    lab.check(&Case::new("far jump", "ff2d @data+10").with(frames)).passed(Placement::Far, Way::Stepped);
}
