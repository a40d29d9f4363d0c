//! What kprobes do with instructions and addresses, by class. A kernel is asked in the room `tests`.
#![allow(clippy::single_range_in_vec_init, reason = "tables of one range")]

use insn::x86::Mode;
use stepping::Kprobe::{Boosted, Emulated, Refused, Stepped, Traced, Wrong};
use stepping::KprobeKernel;
use stepping::x86::KprobeDeviation::*;
use stepping::x86::KprobeRefusal::*;
use stepping::x86::{NotOptimized, kprobe, kprobe_address, kprobe_at, optimized};

use super::{hex, insn};

const MODE: Mode = Mode::INTEL_64;
const PREEMPTIBLE: KprobeKernel<'_> = KprobeKernel {
    preemption: true,
    jump_tables: false,
    blacklist: &[],
    patched: &[],
    ftrace: &[],
    bugs: &[],
    fixups: &[],
};
const START: u64 = 0xffff_ffff_8100_0000;

#[test]
fn each_class_of_instruction_is_told_apart() {
    // By a kernel that boosts and by one that does not.
    let rows = [
        ("55", Boosted, Stepped),
        ("48 8b 05 00 00 00 00", Boosted, Stepped),
        ("0f b6 c0", Boosted, Stepped),
        ("0f ae f0", Stepped, Stepped),
        ("0f 38 f0 02", Stepped, Stepped),
        ("67 8b 00", Stepped, Stepped),
        ("d9 c0", Stepped, Stepped),
        ("c0 f0 01", Stepped, Stepped),
        ("f7 c8 00 00 00 00", Stepped, Stepped),
        ("ff c0", Boosted, Stepped),
        ("ff 30", Stepped, Stepped),
        ("48 c7 84 24 00 00 00 00 00 00 00 00", Stepped, Stepped),
        ("9c", Boosted, Emulated),
        ("fa", Boosted, Emulated),
        ("c3", Boosted, Emulated),
        ("ff e0", Boosted, Emulated),
        ("41 ff d2", Emulated, Emulated),
        ("e8 00 00 00 00", Emulated, Emulated),
        ("0f 84 00 00 00 00", Emulated, Emulated),
        ("e3 00", Emulated, Emulated),
        ("cc", Refused(Exception), Refused(Exception)),
        ("0f 0b", Refused(Exception), Refused(Exception)),
        ("0f b9 c0", Refused(Exception), Refused(Exception)),
        ("cd 80", Refused(Exception), Refused(Exception)),
        ("8e d0", Refused(StackSegment), Refused(StackSegment)),
        ("cf", Refused(Far), Refused(Far)),
        ("ff 28", Refused(Far), Refused(Far)),
        ("ff 10", Refused(Indirect), Refused(Indirect)),
        ("67 ff e0", Refused(Indirect), Refused(Indirect)),
        ("0f 01 c2", Refused(Virtualization), Refused(Virtualization)),
        ("0f 01 ca", Stepped, Stepped),
        ("e2 00", Wrong(LoopCount), Wrong(LoopCount)),
        ("c2 08 00", Boosted, Wrong(ReturnKeepsStack)),
        ("66 9c", Boosted, Wrong(StackSize)),
        ("f4", Wrong(Halts), Wrong(Halts)),
        ("0f 05", Wrong(LeavesCopy), Wrong(LeavesCopy)),
        ("48 0f 07", Wrong(LeavesCopy), Wrong(LeavesCopy)),
        ("c7 f8 00 00 00 00", Wrong(LeavesCopy), Wrong(LeavesCopy)),
        ("c5 f9 6f c0", Boosted, Stepped),
        ("c5 f8 77", Wrong(OtherInstruction), Wrong(OtherInstruction)),
        ("c5 f9 eb c0", Wrong(OtherInstruction), Wrong(OtherInstruction)),
        ("c5 f9 fa c0", Boosted, Wrong(OtherInstruction)),
    ];
    for (bytes, boosting, preemptible) in rows {
        let insn = insn(bytes, MODE);
        assert_eq!(kprobe(&insn, &KprobeKernel::default()), boosting, "{bytes}");
        assert_eq!(kprobe(&insn, &PREEMPTIBLE), preemptible, "{bytes}");
    }
}

#[test]
fn an_address_is_refused_by_its_place_and_by_the_kernels_tables() {
    // endbr64, call, push, mov, ud2, ret.
    let code = hex("f3 0f 1e fa e8 00 00 00 00 55 48 89 e5 0f 0b c3");
    let kernel = KprobeKernel {
        blacklist: &[START + 15..START + 16],
        patched: &[START + 9..START + 10],
        ftrace: &[START + 4],
        bugs: &[START + 13],
        fixups: &[START + 10],
        ..KprobeKernel::default()
    };
    let at = |offset: u64, kernel: &KprobeKernel<'_>| kprobe_at(&code, START, START + offset, MODE, kernel);
    assert_eq!(kprobe_address(&code, START), START + 4);
    assert_eq!(kprobe_address(&code[4..], START + 4), START + 4);
    let expected = [(4, Traced), (9, Refused(Patched)), (10, Stepped), (13, Refused(Bug)), (15, Refused(Blacklisted))];
    for (offset, expected) in expected {
        assert_eq!(at(offset, &kernel), expected, "{offset}");
    }
    let empty = KprobeKernel::default();
    for (offset, expected) in
        [(4, Emulated), (5, Refused(NotAnInstruction)), (10, Boosted), (16, Refused(NotAnInstruction))]
    {
        assert_eq!(at(offset, &empty), expected, "{offset}");
    }
    let broken = hex("55 06 c3");
    assert_eq!(kprobe_at(&broken, START, START + 2, MODE, &empty), Refused(Undecodable(START + 1)));
}

#[test]
fn a_jump_covers_whole_instructions_or_a_reason_says_why_not() {
    let ask = |code: &str, offset: u64, kernel: &KprobeKernel<'_>| {
        optimized(&hex(code), START, START + offset, MODE, kernel).map(|range| (range.start - START, range.end - START))
    };
    let empty = KprobeKernel::default();
    let rows = [
        ("55 48 89 e5 31 c0 c3", 0, Ok((0, 6))),
        ("55 48 89 e5 31 c0 c3", 1, Ok((1, 6))),
        ("55 48 89 e5 31 c0 c3", 4, Err(NotOptimized::FunctionEnds)),
        ("55 e8 00 00 00 00 c3", 0, Err(NotOptimized::NotBoosted(START + 1))),
        ("55 8e d0 31 c0 c3", 0, Err(NotOptimized::NotCopied(START + 1))),
        ("55 06 90 90 90 c3", 0, Err(NotOptimized::Undecodable(START + 1))),
        // The end of the five bytes is a target too, the place of the trap is none, nor what lies behind.
        ("90 90 90 90 90 90 eb fd", 0, Err(NotOptimized::JumpsInto(START + 6))),
        ("90 90 90 90 90 90 eb f9", 0, Err(NotOptimized::JumpsInto(START + 6))),
        ("90 90 90 90 90 90 eb f8", 0, Ok((0, 5))),
        ("90 90 90 90 90 90 eb fe", 0, Ok((0, 5))),
        ("90 90 90 90 90 90 0f 84 f5 ff ff ff", 0, Err(NotOptimized::JumpsInto(START + 6))),
        ("90 90 90 90 90 ff e0", 0, Ok((0, 5))),
    ];
    for (code, offset, expected) in rows {
        assert_eq!(ask(code, offset, &empty), expected, "{code} at {offset}");
    }
    let code = "55 48 89 e5 31 c0 0f 1f 44 00 00 c3";
    let with = |kernel: KprobeKernel<'_>| ask(code, 0, &kernel);
    assert_eq!(with(KprobeKernel { fixups: &[START + 6], ..empty }), Err(NotOptimized::Fixup(START + 6)));
    assert_eq!(with(KprobeKernel { ftrace: &[START + 5], ..empty }), Err(NotOptimized::Traced(START + 5)));
    assert_eq!(with(KprobeKernel { ftrace: &[START + 6], ..empty }), Ok((0, 6)));
    let patched = [START + 4..START + 6];
    assert_eq!(with(KprobeKernel { patched: &patched, ..empty }), Err(NotOptimized::Patched(START + 4)));
    let jumps = KprobeKernel { jump_tables: true, ..empty };
    assert_eq!(ask("90 90 90 90 90 ff e0", 0, &jumps), Err(NotOptimized::IndirectJump(START + 5)));
}

#[test]
fn an_answer_is_told_with_its_reason() {
    let told = |bytes| kprobe(&insn(bytes, MODE), &PREEMPTIBLE).to_string();
    assert_eq!(told("55"), "stepped");
    assert_eq!(told("0f 0b"), "refused: traps or interrupts by definition");
    assert_eq!(told("f4"), "wrong: halts with interrupts masked");
    assert_eq!(NotOptimized::JumpsInto(16).to_string(), "the instruction at 0x10 jumps into it");
}
