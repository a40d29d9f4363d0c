//! Checked-in traces are what `insn` says, and what is not is found.
//!
//! They are of `tests/programs`, linked statically and recorded on a Zen 4 from behind their start: odd.c for 64 and 32 bits, and pool.c.

mod trace;

use insn::x86::{Bits, Vendor};
use record::{Checker, Code, Event, EventKind, Header, Item, Machine, Next, Step, Wrong};
use trace::{check, items};

const TRACES: [(&str, &[u8]); 3] = [
    ("x86-64", include_bytes!("data/x86-64.ntrace")),
    ("i386", include_bytes!("data/i386.ntrace")),
    ("threads", include_bytes!("data/threads.ntrace")),
];

#[test]
fn length_flow_and_target_of_every_recorded_step_are_those_of_the_processor() {
    for (name, trace) in TRACES {
        let (wrong, checked) = check(trace);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        assert!(checked > 5_000, "{name}: only {checked} steps");
    }
}

#[test]
fn the_recorded_traces_hold_what_is_hard_to_record() {
    for (name, trace) in &TRACES[..2] {
        let items = items(trace);
        let has = |wanted: &dyn Fn(&Item) -> bool| items.iter().any(wanted);
        let step = |wanted: &dyn Fn(&Step) -> bool| has(&|item| matches!(item, Item::Step(step) if wanted(step)));
        assert!(
            step(&|step| step.code.bytes().starts_with(&[0xf3, 0xa4]) && step.next == Next::At(step.pc)),
            "{name}: rep movsb"
        );
        assert!(
            step(&|step| step.code.bytes().starts_with(&[0x8e, 0xd1]) && matches!(step.next, Next::Unseen(_))),
            "{name}: mov ss"
        );
        assert!(step(&|step| step.next == Next::Unfinished), "{name}: a fault");
        assert!(
            has(&|item| matches!(item, Item::Event(Event { kind: EventKind::Signal { number: 11, fault: true }, .. }))),
            "{name}"
        );
        assert!(has(&|item| matches!(item, Item::Event(Event { kind: EventKind::Moved, .. }))), "{name}: a restart");
    }
    let threads: std::collections::HashSet<u32> = items(TRACES[2].1)
        .iter()
        .filter_map(|item| if let Item::Step(step) = item { Some(step.tid) } else { None })
        .collect();
    assert_eq!(threads.len(), 4);
}

/// What a checker says of one step of 64-bit code at 0x1000.
fn wrong(code: &[u8], next: Next, call: Option<u64>) -> Option<Wrong> {
    wrong_on(Machine::X86(Vendor::Amd), code, next, call)
}

fn wrong_on(machine: Machine, code: &[u8], next: Next, call: Option<u64>) -> Option<Wrong> {
    let mut checker = Checker::new(Header { machine, registers: false });
    let event = |kind| Item::Event(Event { tid: 1, pid: 1, kind });
    checker.item(&event(EventKind::Started { by: 0 }));
    if let Some(number) = call {
        checker.item(&event(EventKind::Syscall(number)));
    }
    checker.item(&Item::Step(step(0x1000, code, next))).map(|mismatch| mismatch.wrong)
}

fn step(pc: u64, code: &[u8], next: Next) -> Step {
    Step { tid: 1, pid: 1, pc, code: Code::new(code), bits: Some(Bits::B64), next, registers: None }
}

#[test]
fn each_kind_of_flow_is_held_to_what_it_may_do() {
    let at = Next::At;
    let none: Option<Wrong> = None;
    for (code, next, call, expected) in [
        // mov eax, imm32
        (&[0xb8, 0, 0, 0, 0][..], at(0x1005), None, none),
        (&[0xb8, 0, 0, 0, 0], at(0x1004), None, Some(Wrong::Length(0x1005))),
        (&[0xb8, 0, 0, 0, 0], at(0x1000), None, Some(Wrong::Length(0x1005))),
        // rep movsb, which may stand still; movsb, which may not
        (&[0xf3, 0xa4], at(0x1000), None, none),
        (&[0xa4], at(0x1000), None, Some(Wrong::Length(0x1001))),
        // jmp and call to 0x1012 and 0x1015
        (&[0xeb, 0x10], at(0x1012), None, none),
        (&[0xeb, 0x10], at(0x1002), None, Some(Wrong::Target(0x1012))),
        (&[0xe8, 0x10, 0, 0, 0], at(0x1016), None, Some(Wrong::Target(0x1015))),
        // jmp rax, ret
        (&[0xff, 0xe0], at(0x7777), None, none),
        (&[0xc3], at(0x7777), None, none),
        // je
        (&[0x74, 0x10], at(0x1002), None, none),
        (&[0x74, 0x10], at(0x1012), None, none),
        (&[0x74, 0x10], at(0x1003), None, Some(Wrong::Condition { next: 0x1002, target: 0x1012 })),
        // getpid and rt_sigreturn
        (&[0x0f, 0x05], at(0x1002), Some(39), none),
        (&[0x0f, 0x05], at(0x7777), Some(39), Some(Wrong::Length(0x1002))),
        (&[0x0f, 0x05], at(0x7777), Some(15), none),
        // int3
        (&[0xcc], at(0x1001), None, none),
        // ud2
        (&[0x0f, 0x0b], at(0x1002), None, Some(Wrong::Faulting)),
        (&[0x0f, 0x0b], Next::Unfinished, None, none),
        // mov ss, eax; mov ds, eax
        (&[0x8e, 0xd0], Next::Unseen(0x1002), None, none),
        (&[0x8e, 0xd8], Next::Unseen(0x1002), None, Some(Wrong::Unseen)),
        (&[0x8e, 0xd0], Next::Unseen(0x1003), None, Some(Wrong::Length(0x1002))),
    ] {
        assert_eq!(wrong(code, next, call), expected, "{code:02x?} {next:x?} {call:?}");
    }
    assert!(matches!(wrong(&[0x06], at(0x1001), None), Some(Wrong::Decode(_))));
    assert_eq!(wrong(&[0x06], Next::Unfinished, None), none);
}

#[test]
fn a_thread_that_moves_without_a_reason_is_found() {
    let nop = |pc| Item::Step(step(pc, &[0x90], Next::At(pc + 1)));
    for (event, is_wrong) in [
        (None, true),
        (Some(EventKind::Signal { number: 10, fault: false }), false),
        (Some(EventKind::Syscall(1)), true),
    ] {
        let mut checker = Checker::new(Header { machine: Machine::X86(Vendor::Amd), registers: false });
        assert_eq!(checker.item(&nop(0x1000)), None);
        if let Some(kind) = event {
            checker.item(&Item::Event(Event { tid: 1, pid: 1, kind }));
        }
        assert_eq!(checker.item(&nop(0x2000)).map(|mismatch| mismatch.wrong), is_wrong.then_some(Wrong::Moved(0x1001)));
        assert_eq!(checker.item(&nop(0x2001)), None);
    }
}

#[test]
fn each_kind_of_flow_of_arm64_is_held_to_what_it_may_do() {
    let at = Next::At;
    let none: Option<Wrong> = None;
    for (word, next, call, expected) in [
        // nop
        (0xd503_201f_u32, at(0x1004), None, none),
        (0xd503_201f, at(0x1000), None, Some(Wrong::Length(0x1004))),
        (0xd503_201f, Next::Unseen(0x1004), None, Some(Wrong::Unseen)),
        // mrs x0, midr_el1, which the kernel emulates
        (0xd538_0000, at(0x1004), None, none),
        // b and bl to 0x1010
        (0x1400_0004, at(0x1010), None, none),
        (0x1400_0004, at(0x1004), None, Some(Wrong::Target(0x1010))),
        (0x9400_0004, at(0x1004), None, Some(Wrong::Target(0x1010))),
        // br x1, ret
        (0xd61f_0020, at(0x7777_0000), None, none),
        (0xd65f_03c0, at(0x7777_0000), None, none),
        // cbz x0, 0x1010
        (0xb400_0080, at(0x1004), None, none),
        (0xb400_0080, at(0x1010), None, none),
        (0xb400_0080, at(0x1008), None, Some(Wrong::Condition { next: 0x1004, target: 0x1010 })),
        // getpid and rt_sigreturn
        (0xd400_0001, at(0x1004), Some(172), none),
        (0xd400_0001, at(0x7777_0000), Some(172), Some(Wrong::Length(0x1004))),
        (0xd400_0001, at(0x7777_0000), Some(139), none),
        // brk stays where it is.
        (0xd420_0000, at(0x1004), None, Some(Wrong::Faulting)),
        (0xd420_0000, Next::Unfinished, None, none),
        // ldxr w0, [x1] is run with what follows; stxr w2, w0, [x1] ends that.
        (0x885f_7c20, Next::Unseen(0x1004), None, none),
        (0x885f_7c20, Next::Unseen(0x1008), None, Some(Wrong::Length(0x1004))),
        (0x8802_7c20, Next::Unseen(0x1004), None, Some(Wrong::Unseen)),
        // cpym may be begun anew at cpyp, an instruction before it.
        (0x1d01_0440, at(0x1000), None, none),
        (0x1d41_0440, at(0x0ffc), None, none),
        (0x1d41_0440, at(0x0ff8), None, Some(Wrong::Length(0x1004))),
    ] {
        let found = wrong_on(Machine::Arm64, &word.to_le_bytes(), next, call);
        assert_eq!(found, expected, "{word:08x} {next:x?} {call:?}");
    }
    assert!(matches!(wrong_on(Machine::Arm64, &[0xff; 4], at(0x1004), None), Some(Wrong::Undefined(_))));
}

#[test]
fn an_exclusive_sequence_may_go_on_unseen_until_it_ends() {
    let mut checker = Checker::new(Header { machine: Machine::Arm64, registers: false });
    let mut check = |pc, word: u32, next| checker.item(&Item::Step(step(pc, &word.to_le_bytes(), next)));
    for (pc, word, next) in [
        (0x1000, 0x885f_7c20, Next::Unseen(0x1004)),
        (0x1004, 0x6b01_001f, Next::Unseen(0x1008)),
        (0x1008, 0x8802_7c20, Next::At(0x100c)),
    ] {
        assert_eq!(check(pc, word, next), None);
    }
    assert!(check(0x100c, 0x6b01_001f, Next::Unseen(0x1010)).is_some());
}
