//! What uprobes do with instructions, by class. The running kernel is asked in the room `tests`.

use insn::x86::Mode;
use stepping::Uprobe::{Passed, Refused, Wrong};
use stepping::x86::UprobeDeviation::*;
use stepping::x86::UprobeRefusal::*;
use stepping::x86::uprobe;

use super::insn;

#[test]
fn each_class_of_instruction_is_told_apart_in_64_bit_code() {
    let rows = [
        ("55", Passed),
        ("0f 1f 44 00 00", Passed),
        ("66 90", Passed),
        ("f3 90", Passed),
        ("e8 00 00 00 00", Passed),
        ("0f 38 f0 02", Passed),
        ("ff 25 00 00 00 00", Passed),
        ("f2 0f 10 02", Passed),
        ("c4 e2 79 58 c0", Passed),
        ("64 48 8b 04 25 28 00 00 00", Passed),
        ("a4", Passed),
        ("3e ff e0", Refused(Prefix)),
        ("66 2e 0f 1f 84 00 00 00 00 00", Refused(Prefix)),
        ("f0 ff 00", Refused(Prefix)),
        ("8e d0", Refused(StackSegment)),
        ("cd 80", Refused(Opcode)),
        ("cc", Refused(Opcode)),
        ("c5 f9 6f c0", Refused(Opcode)),
        ("66 0f 84 00 00 00 00", Refused(Branch16)),
        ("66 eb 00", Refused(Branch16)),
        ("c5 f9 70 c0 00", Wrong(Jumps)),
        ("c5 f8 77", Wrong(Jumps)),
        ("c5 f9 e8 c0", Wrong(Calls)),
        ("c5 f8 c2 c0 00", Wrong(StaysInCopy)),
        ("c4 e2 79 9d c0", Wrong(KeepsTrapFlag)),
        ("c4 e2 71 90 04 12", Wrong(Skipped)),
        ("49 90", Wrong(Skipped)),
        ("9c", Wrong(StoresTrapFlag)),
        ("0f 05", Wrong(StoresCopyAddress)),
        ("f3 a4", Wrong(CountsRepetitions)),
        ("f2 ae", Wrong(CountsRepetitions)),
    ];
    for (bytes, expected) in rows {
        assert_eq!(uprobe(&insn(bytes, Mode::INTEL_64)), expected, "{bytes}");
    }
}

#[test]
fn opcodes_of_32_bit_code_are_judged_by_its_own_list() {
    let rows = [
        ("60", Passed),
        ("9a 00 00 00 00 07 00", Passed),
        ("ea 00 00 00 00 07 00", Passed),
        ("1f", Refused(Opcode)),
        ("c4 e2 79 9a c0", Wrong(WritesReturnAddress)),
        ("c5 f9 ea c0", Wrong(StaysInCopy)),
    ];
    for (bytes, expected) in rows {
        assert_eq!(uprobe(&insn(bytes, Mode::INTEL_32)), expected, "{bytes}");
    }
}

#[test]
fn an_answer_is_told_with_its_reason() {
    let told = |bytes| uprobe(&insn(bytes, Mode::INTEL_64)).to_string();
    assert_eq!(told("55"), "passed");
    assert_eq!(told("cd 80"), "refused: opcode not on the kernel's list");
    assert_eq!(told("9c"), "wrong: stores the trap flag");
}
