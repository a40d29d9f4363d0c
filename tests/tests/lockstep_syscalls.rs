//! System calls through their slots and undisturbed: rcx, r11, children, signals, restarts, exec.
#![cfg(target_arch = "x86_64")]

use crossing::lockstep::{Case, Lab, State, Way};

const GETPID: u64 = 39;
const CLONE: u64 = 56;
const FORK: u64 = 57;
const VFORK: u64 = 58;

#[test]
fn syscall_leaves_rcx_and_r11_as_in_place() {
    let mut lab = Lab::x86_64();
    for text in
        ["0f05", "480f05", "2e0f05", "660f05", "f20f05", "f30f05", "662e3e2664650f05", "6666666666666666666666660f05"]
    {
        let case = Case::new(text, text).seeds(8).with(|s| s.regs.rax = GETPID);
        lab.check(&case).all(Way::Boosted).ended(libc::SIGTRAP);
    }
    lab.check(&Case::new("no such call", "0f05").with(|s| s.regs.rax = 0xffff)).all(Way::Boosted);
}

/// A call that returns twice: the child notes rcx and r11 in the shared window and exits; the parent waits for it and clears
/// what differs between runs.
fn twice(number: u64) -> Case<'static> {
    Case::new("returns twice", "0f05")
        .after(&[
            "85c0",              // test %eax, %eax
            "0f85 @code+8100",   // jnz parent
            "48890d @shared+8",  // mov %rcx, shared+8
            "4c891d @shared+10", // mov %r11, shared+10
            "48892d @shared+18", // mov %rbp, shared+18
            "b83c000000",        // exit(7)
            "bf07000000",
            "0f05",
        ])
        .at(
            0x8100,
            &[
                "48890d @shared+20", // mov %rcx, shared+20
                "4c891d @shared+28", // mov %r11, shared+28
                "89c7",              // wait4(pid, shared+30, __WALL, 0)
                "488d35 @shared+30",
                "ba00000040",
                "4531d2",
                "b83d000000",
                "0f05",
                "31c0",
                "31ff",
            ],
        )
        .with(move |s| s.regs.rax = number)
        .forwarding(libc::SIGCHLD)
}

#[test]
fn fork_vfork_and_clone_return_twice_to_the_original_code() {
    let mut lab = Lab::x86_64();
    for number in [FORK, VFORK] {
        lab.check(&twice(number)).all(Way::Boosted).ended(libc::SIGTRAP);
    }
    // CLONE_VM | CLONE_VFORK | SIGCHLD, with a stack of its own: the child of clone begins as posix_spawn's.
    for flags in [0x4000_0100 | 17, 0x4000_0000 | 17, 17] {
        let case = twice(CLONE).with(move |s| {
            s.regs.rdi = flags;
            s.regs.rsi = s.layout.stack + 0x800;
            [s.regs.rdx, s.regs.r10, s.regs.r8] = [0; 3];
        });
        lab.check(&case).all(Way::Boosted).ended(libc::SIGTRAP);
    }
}

/// A handler of SIGUSR1 at code+9000 and its restorer at code+9100, installed by the program itself.
fn with_handler(s: &mut State) {
    let layout = s.layout;
    // struct sigaction: handler, SA_RESTORER | SA_SIGINFO, restorer, mask.
    for (at, value) in [(0, layout.code + 0x9000), (8, 0x0400_0004), (16, layout.code + 0x9100), (24, 0)] {
        s.poke(layout.data + at, &value.to_le_bytes());
    }
}

const INSTALL: &[&str] = &[
    "b80d000000", // rt_sigaction(SIGUSR1, data, 0, 8)
    "bf0a000000",
    "488d35 @data",
    "31d2",
    "41ba08000000",
    "0f05",
    "b827000000", // kill(getpid(), SIGUSR1)
    "0f05",
    "89c7",
    "be0a000000",
    "b83e000000",
];

#[test]
fn a_signal_on_the_way_out_of_a_system_call_is_handled_as_in_place() {
    let mut lab = Lab::x86_64();
    let case = Case::new("kill", "0f05")
        .before(INSTALL)
        .after(&["31ff"])
        .at(0x9000, &["48ffc3", "c3"])
        .at(0x9100, &["b80f000000", "0f05"])
        .with(with_handler)
        .forwarding(libc::SIGUSR1)
        .with(|s| s.stack.fill(0));
    // The frame below the stack pointer holds the slot's address: that is for the back end to translate.
    let result = lab.compare(&case);
    let message = result.err().unwrap_or_default();
    assert!(
        message.lines().skip(1).all(|line| line.trim_start().starts_with("stack+")),
        "more than the signal frame differs: {message}"
    );
}

#[test]
fn a_probed_sigreturn_goes_back_to_the_interrupted_code() {
    let mut lab = Lab::x86_64();
    let case = Case::new("rt_sigreturn", "0f05")
        .before(&["b80f000000"])
        .at(
            0x4000,
            &[
                "b80d000000",
                "bf0a000000",
                "488d35 @data",
                "31d2",
                "41ba08000000",
                "0f05",
                "b827000000",
                "0f05",
                "89c7",
                "be0a000000",
                "b83e000000",
                "0f05",
                "31ff",
                "48ffc3",
            ],
        )
        .at(0x9000, &["48ffc3", "c3"])
        .with(with_handler)
        .with(|s| {
            let restorer = s.layout.site() - 5;
            s.poke(s.layout.data + 16, &restorer.to_le_bytes());
            s.regs.rip = s.layout.code + 0x4000;
        })
        .forwarding(libc::SIGUSR1);
    lab.check(&case).all(Way::Boosted).ended(libc::SIGTRAP);
}

#[test]
fn execve_replaces_the_program_or_returns() {
    let mut lab = Lab::x86_64();
    for (program, signal) in [(&b"/proc/self/exe\0"[..], 0), (b"/nonexistent/program\0", libc::SIGTRAP)] {
        let case = Case::new("execve", "0f05").seeds(1).with(|s| {
            s.regs.rax = 59;
            s.poke(s.layout.data, program);
            [s.regs.rdi, s.regs.rsi, s.regs.rdx] = [s.layout.data, 0, 0];
        });
        lab.check(&case).all(Way::Boosted).ended(signal);
    }
}

#[test]
fn exit_ends_the_process_with_its_status() {
    let mut lab = Lab::x86_64();
    for text in ["0f05", "2e0f05"] {
        let case = Case::new("exit_group", text).seeds(1).with(|s| [s.regs.rax, s.regs.rdi] = [231, 42]);
        lab.check(&case).all(Way::Boosted).ended(0);
    }
}

#[test]
fn a_32_bit_system_call_of_a_64_bit_program_returns() {
    let mut lab = Lab::x86_64();
    // getpid of i386; r8 to r11 are the kernel's to clear.
    for text in ["cd80", "2ecd80"] {
        lab.check(&Case::new("int 0x80", text).with(|s| s.regs.rax = 20)).all(Way::Boosted).ended(libc::SIGTRAP);
    }
}
