//! 32-bit programs through their plans and undisturbed.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::{Case, Lab, State, Way};
use crossing::oracle::vendor;
use crossing::skip;
use insn::x86::Vendor;

const THERE: u64 = 0x8100;

/// A 32-bit child, or a line that says why there is none.
fn lab(test: &str) -> Option<Lab> {
    Lab::i386().map_err(|error| skip(test, error)).ok()
}

#[test]
fn branches_of_32_bit_code_are_emulated() {
    let Some(mut lab) = lab("branches_of_32_bit_code_are_emulated") else { return };
    for text in [
        "eb @code+8040/8",
        "e9 @code+8100",
        "e8 @code+8100",
        "e800000000",
        "e8000000f0",
        "e90000007f",
        "66eb40",
        "66e94000",
        "66e84000",
        "660f844000",
        "667540",
        "f2e8 @code+8100",
        "2ee8 @code+100",
    ] {
        lab.check(&Case::new(text, text).seeds(8)).all(Way::Emulated);
    }
    for condition in 0..16 {
        let text = format!("{:02x} @code+8040/8", 0x70 + condition);
        lab.check(&Case::new(&text, &text).seeds(8)).all(Way::Emulated);
    }
    for opcode in ["e0", "e1", "e2", "e3", "67e0", "67e1", "67e2", "67e3", "66e2"] {
        for rcx in [0, 1, 2, 0x1_0000, 0x1_0001, 0xffff_ffff, 0xffff_0001] {
            let text = format!("{opcode}40");
            lab.check(&Case::new(&text, &text).seeds(4).with(|s| s.regs.rcx = rcx)).all(Way::Emulated);
        }
    }
}

#[test]
fn indirect_branches_and_returns_of_32_bit_code_are_emulated() {
    let Some(mut lab) = lab("indirect_branches_and_returns_of_32_bit_code_are_emulated") else { return };
    let there = |s: &mut State| {
        let to = (s.layout.code + THERE).to_le_bytes();
        for offset in [0, 0x10, 0x1000, 0x1010, 0x2000, 0x2010] {
            s.poke(s.layout.data + offset, &to[..4]);
        }
        for offset in [0, 4, 8] {
            s.poke(s.regs.rsp - 4 + offset, &to[..4]);
        }
        s.regs.rax = s.layout.code + THERE;
        s.regs.rbx = s.layout.data;
        s.regs.rcx = 2;
    };
    for text in [
        "ffd0",
        "ffe0",
        "ff1424",
        "ff542404",
        "ff5424fc",
        "ff2424",
        "ff14cb",
        "ff6310",
        "ff15 =data+10/32",
        "ff25 =data+10/32",
        "64ff1510000000",
        "65ff2510000000",
        "c3",
        "c21000",
        "f3c3",
        "c2ffff",
        "66ffd0",
        "66ffe0",
        "66c3",
        "66c20400",
        "66ff1424",
        "66ff13",
    ] {
        lab.check(&Case::new(text, text).with(there)).all(Way::Emulated);
    }
    // 16-bit addressing reaches only what is not mapped.
    for text in ["67ff17", "67ff27", "67ff160010"] {
        lab.check(&Case::new(text, text).with(there)).all(Way::EmulatedFault).ended(libc::SIGSEGV);
    }
    // A null selector.
    for text in ["26ff13", "64ff13"] {
        let case = Case::new(text, text).with(there).with(|s| [s.regs.es, s.regs.fs] = [0, 0]);
        lab.check(&case).ended(libc::SIGSEGV);
    }
    lab.check(&Case::new("call (%eax)", "ff10").with(|s| s.regs.rax = 0x1000))
        .all(Way::EmulatedFault)
        .ended(libc::SIGSEGV);
    lab.check(&Case::new("call", "e8 @code+8100").with(|s| s.regs.rsp = s.layout.stack)).all(Way::EmulatedFault);
}

#[test]
fn flags_of_32_bit_code_go_to_the_stack_and_back() {
    let Some(mut lab) = lab("flags_of_32_bit_code_go_to_the_stack_and_back") else { return };
    for text in ["9c", "669c"] {
        lab.check(&Case::new(text, text).seeds(8).after(&["58"])).all(Way::Emulated).ended(libc::SIGTRAP);
    }
    for text in ["9d", "669d"] {
        for keep in [!0x4_0100_u32, !0x24_0100, u32::MAX] {
            let case = Case::new(text, text).seeds(8).after(&["90", "90"]).with(|s| {
                let random = u32::from_le_bytes(s.data[..4].try_into().expect("four bytes"));
                s.poke(s.regs.rsp, &(random & keep).to_le_bytes());
            });
            lab.check(&case);
        }
    }
    // How a program asks whether there is cpuid.
    let case =
        Case::new("popf of ID", "9d").with(|s| s.poke(s.regs.rsp, &(s.regs.eflags as u32 ^ 1 << 21).to_le_bytes()));
    lab.check(&case.after(&["9c", "58"])).all(Way::Trapped);
}

#[test]
fn system_calls_of_32_bit_code_return() {
    let Some(mut lab) = lab("system_calls_of_32_bit_code_return") else { return };
    for text in ["cd80", "2ecd80"] {
        lab.check(&Case::new("getpid", text).with(|s| s.regs.rax = 20)).all(Way::Boosted).ended(libc::SIGTRAP);
    }
    // Only AMD has `syscall` in 32-bit code.
    let entries: &[&str] = if vendor() == Vendor::Amd { &["0f05", "0f34"] } else { &["0f34"] };
    for &text in entries {
        // They return to the landing pad of the vdso, whose stack layout this is not: only that both ways agree.
        let case = Case::new(text, text).with(|s| {
            s.regs.rax = 20;
            s.regs.rbp = s.regs.rsp;
        });
        lab.check(&case).all(Way::Boosted);
    }
}

#[test]
fn what_64_bit_mode_lacks_runs_in_slots_of_32_bit_code() {
    let Some(mut lab) = lab("what_64_bit_mode_lacks_runs_in_slots_of_32_bit_code") else { return };
    for text in [
        "40",
        "48",
        "60",
        "61",
        "6660",
        "27",
        "2f",
        "37",
        "3f",
        "d40a",
        "d50a",
        "d6",
        "ce",
        "6203",
        "630b",
        "06",
        "0e",
        "16",
        "1e",
        "07",
        "1f",
        "a0 =data+10/32",
        "a3 =data+10/32",
        "67a01000",
        "c8100001",
        "c9",
        "d7",
        "cc",
        "f1",
        "cd03",
        "cd04",
        "f4",
        "fa",
        "0f0b",
        "f7f1",
        "8ed0",
        "17",
        "90",
        "f390",
        "8d05 =data+10/32",
        "8b0d =data+10/32",
        "ff05 =data+10/32",
        "0fa2",
        "f3a4",
        "0fae03",
        "82c101",
    ] {
        let case = Case::new(text, text).with(|s| {
            [s.regs.rbx, s.regs.rsi, s.regs.rdi] = [s.layout.data; 3];
            s.regs.rcx = 0;
            s.regs.rbp = s.regs.rsp + 0x40;
            if text == "8ed0" {
                s.regs.rax = s.regs.ss;
            }
            if text == "17" || text == "07" || text == "1f" {
                s.poke(s.regs.rsp, &(s.regs.ss as u32).to_le_bytes());
            }
        });
        lab.check(&case);
    }
}

#[test]
fn far_transfers_of_32_bit_code_push_the_original_address() {
    let Some(mut lab) = lab("far_transfers_of_32_bit_code_push_the_original_address") else { return };
    let pointers = |s: &mut State| {
        let mut far = ((s.layout.code + THERE) as u32).to_le_bytes().to_vec();
        far.extend((s.regs.cs as u32).to_le_bytes());
        far.extend((s.regs.eflags as u32).to_le_bytes());
        s.poke(s.layout.data, &far);
        s.poke(s.regs.rsp, &far);
        s.regs.rbx = s.layout.data;
    };
    for text in ["9a =code+8100/32 2300", "ff1b", "ff1d =data/32"] {
        lab.check(&Case::new(text, text).with(pointers)).all(Way::Stepped).ended(libc::SIGTRAP);
    }
    for text in ["ea =code+8100/32 2300", "ff2b", "cb", "ca0800", "cf"] {
        lab.check(&Case::new(text, text).with(pointers)).all(Way::Boosted).ended(libc::SIGTRAP);
    }
    for text in ["669a00002300", "66ff1b", "9a =code+8100/32 3412"] {
        lab.check(&Case::new(text, text).with(pointers));
    }
}
