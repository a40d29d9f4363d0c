//! Faults in a slot are the original's: the same signal, the same code, the same address, the original rip.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::{Case, DATA_SIZE, Lab, Placement, State, Way};
use crossing::skip;

/// Whether the bytes are an instruction at all.
fn decodes(lab: &Lab, text: &str) -> bool {
    insn::x86::decode(&lab.layout().instruction(text, lab.layout().site()), lab.mode()).is_ok()
}

#[test]
fn undefined_instructions_raise_sigill_at_the_site() {
    let mut lab = Lab::x86_64();
    for text in ["0f0b", "0fff", "0fffc0", "0fb9c0", "0fb905 00000000", "670fb94001", "0f0bcc"] {
        let case = Case::new(text, text);
        if decodes(&lab, text) {
            lab.check(&case).all(Way::Boosted);
        }
    }
    lab.check(&Case::new("ud2", "0f0b")).all(Way::Boosted).ended(libc::SIGILL);
}

#[test]
fn divisions_raise_sigfpe_at_the_site() {
    let mut lab = Lab::x86_64();
    for text in ["48f7f1", "f7f1", "66f7f9", "f6f1", "48f73b", "48f73d @data+10"] {
        let case = Case::new(text, text).with(|s| {
            s.regs.rcx = 0;
            s.regs.rbx = s.layout.data + 0x10;
            s.poke(s.layout.data + 0x10, &[0; 8]);
        });
        lab.check(&case).ended(libc::SIGFPE);
    }
    let overflow =
        Case::new("idiv overflow", "48f7f9").with(|s| [s.regs.rax, s.regs.rdx, s.regs.rcx] = [0, 1 << 63, u64::MAX]);
    lab.check(&overflow).all(Way::Boosted).ended(libc::SIGFPE);
}

#[test]
fn unmasked_floating_point_exceptions_are_raised_at_the_site() {
    let mut lab = Lab::x86_64();
    for text in ["f20f5ec1", "0f5ec1", "c5eb5ec1", "62f1ed485ec1"] {
        if text.starts_with("62") && !std::arch::is_x86_feature_detected!("avx512f") {
            skip("unmasked_floating_point_exceptions_are_raised_at_the_site", "no AVX-512 on this processor");
            continue;
        }
        let case = Case::new(text, text).with(|s| {
            s.set_mxcsr(0x1d80 & !0x200);
            s.set_xmm(1, [0; 16]);
            s.set_xmm(0, [0, 0, 0x80, 0x3f, 0, 0, 0xf0, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0xf0, 0x3f]);
            s.set_xmm(2, [0, 0, 0x80, 0x3f, 0, 0, 0xf0, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0xf0, 0x3f]);
        });
        lab.check(&case).all(Way::Boosted).ended(libc::SIGFPE);
    }
}

#[test]
fn bad_addresses_raise_sigsegv_with_the_data_address() {
    let mut lab = Lab::x86_64();
    let unmapped = |s: &mut State| [s.regs.rax, s.regs.rbx] = [0x1234, s.layout.data + DATA_SIZE - 3];
    for text in
        ["488b00", "488900", "48ff00", "0f2800", "f0480110", "488b03", "488903", "50", "c8ffff00", "0fae00", "c5fc1103"]
    {
        lab.check(&Case::new(text, text).with(unmapped));
    }
    lab.check(&Case::new("load of an unmapped address", "488b00").with(unmapped)).ended(libc::SIGSEGV);
    // What is not writable.
    lab.check(&Case::new("store into code", "8803").with(|s| s.regs.rbx = s.layout.code)).ended(libc::SIGSEGV);
    lab.check(&Case::new("store into code, rip-relative", "8805 @code+10")).ended(libc::SIGSEGV);
    // Misaligned operands of instructions that want them aligned, and non-canonical ones.
    lab.check(&Case::new("movaps", "0f2803").with(|s| s.regs.rbx = s.layout.data + 1)).ended(libc::SIGSEGV);
    lab.check(&Case::new("movaps, rip-relative", "0f2805 @data+1")).ended(libc::SIGSEGV);
    for rbx in [0x8000_0000_0000, 0x7fff_ffff_fffc, u64::MAX - 2, 0xffff_7fff_ffff_ffff, 0xffff_ffff_8000_0000] {
        for text in ["488b03", "488903", "488b6300", "488b5d00"] {
            lab.check(&Case::new(text, text).with(|s| [s.regs.rbx, s.regs.rbp] = [rbx, rbx]));
        }
    }
}

#[test]
fn privileged_instructions_fault_at_the_site() {
    let mut lab = Lab::x86_64();
    for text in [
        "f4",
        "fa",
        "fb",
        "ec",
        "ed",
        "66ed",
        "ee",
        "ef",
        "e480",
        "e680",
        "6c",
        "6e",
        "f36c",
        "f36e",
        "0f20c0",
        "0f22c0",
        "0f21c0",
        "0f30",
        "0f32",
        "0f08",
        "0f09",
        "0f06",
        "0f0107",
        "0f0113",
        "0f011b",
        "0f0133",
        "0f013b",
        "0f01f8",
        "0f07",
        "480f07",
        "0f00d0",
        "0f00d8",
        "f30f09",
        "0f01c8",
        "0f01c9",
        "0f01d1",
        "0faa",
        "0f0005 @data+40",
    ] {
        lab.check(&Case::new(text, text).with(|s| [s.regs.rbx, s.regs.rdi] = [s.layout.data; 2]))
            .passed(Placement::Near, Way::Boosted);
    }
    for text in ["f4", "fa", "ec", "0f20c0", "0f30"] {
        lab.check(&Case::new(text, text)).all(Way::Boosted).ended(libc::SIGSEGV);
    }
}

#[test]
fn software_interrupts_fault_or_trap_as_in_place() {
    let mut lab = Lab::x86_64();
    for text in ["cd00", "cd01", "cd03", "cd04", "cd0d", "cd20", "cd81", "cdff", "2ecd04"] {
        lab.check(&Case::new(text, text)).all(Way::Boosted);
    }
}

#[test]
fn sysenter_and_sysexit_end_as_in_place() {
    let mut lab = Lab::x86_64();
    // AMD has neither in 64-bit mode; on Intel sysenter returns to where a 64-bit program has no landing pad.
    for text in ["0f34", "0f35"] {
        if decodes(&lab, text) {
            lab.check(&Case::new(text, text).with(|s| s.regs.rax = 20)).all(Way::Boosted);
        }
    }
}
