//! Registers and flags whose old values do not outlive an instruction.

use super::{decode_padded, insn};
use insn::x86::{Flags, Mode, Reg, RegSet};

fn names(set: RegSet) -> String {
    set.iter().map(|reg| reg.to_string()).collect::<Vec<_>>().join(" ")
}

/// Text; registers overwritten in whole; vector registers of which the low 128 bits are.
fn check(table: &[(&str, &str, &str)]) {
    for (text, whole, low) in table {
        let i = insn(text);
        let found = (names(i.overwrites()), names(i.overwrites_low()));
        assert_eq!(found, ((*whole).to_owned(), (*low).to_owned()), "{text}");
        let effects = i.effects();
        assert_eq!((effects.overwrites, effects.overwrites_low), (i.overwrites(), i.overwrites_low()), "{text}");
        assert!(effects.overwrites.union(effects.overwrites_low).difference(effects.writes).is_empty(), "{text}");
    }
}

#[test]
fn a_general_register_is_overwritten_by_32_and_64_bits() {
    check(&[
        ("b001", "", ""),
        ("b401", "", ""),
        ("6689c8", "", ""),
        ("89c8", "rax", ""),
        ("4889c8", "rax", ""),
        ("0f94c0", "", ""),
        ("0fb6c1", "rax", ""),
        ("66f7e1", "", ""),
        ("f7e1", "rax rdx", ""),
        ("6699", "", ""),
        ("99", "rdx", ""),
        ("5b", "rbx rsp", ""),
        ("9f", "", ""),
        ("0fa2", "rax rcx rdx rbx", ""),
        // The kernel may answer for the processor (UMIP), and keeps the upper half.
        ("0f00c8", "", ""),
    ]);
}

#[test]
fn sse_keeps_what_lies_above_128_bits_and_avx_does_not() {
    check(&[("0f28c1", "", "zmm0"), ("c5f828c1", "zmm0", "zmm0"), ("c5f877", "", ""), ("c4e27d58c1", "zmm0", "zmm0")]);
}

#[test]
fn a_scalar_move_merges_from_a_register_and_zeroes_from_memory() {
    check(&[
        ("f30f10c1", "", ""),
        ("f30f1000", "", "zmm0"),
        ("f30f7ec1", "", "zmm0"),
        ("f30f51c1", "mxcsr", ""),
        ("f30f5ac1", "mxcsr", ""),
        ("0f5ac1", "mxcsr", "zmm0"),
        ("0fc4c101", "x87", ""),
    ]);
}

#[test]
fn a_shift_overwrites_flags_where_its_count_is_known_and_not_0() {
    let status = Flags::CF.union(Flags::PF).union(Flags::ZF).union(Flags::SF);
    let table = [
        ("d3e0", Flags::EMPTY),
        ("c1e003", status),
        ("c1e020", Flags::EMPTY),
        ("48c1e020", status),
        ("d1e0", status.union(Flags::OF)),
        ("660fa4c811", Flags::EMPTY),
        ("660fa4c80f", status),
        ("c0e008", Flags::EMPTY),
        ("c0e007", status),
    ];
    for (text, overwritten) in table {
        assert_eq!(insn(text).flags_overwritten(), overwritten, "{text}");
    }
    assert_eq!(insn("d3e0").flags_undefined(), Flags::OF.union(Flags::AF));
    assert_eq!(insn("21c8").flags_undefined(), Flags::AF);
}

#[test]
fn a_repeated_comparison_may_leave_flags_alone() {
    assert_eq!(insn("a6").flags_overwritten(), Flags::STATUS);
    assert_eq!(insn("f3a6").flags_overwritten(), Flags::EMPTY);
}

#[test]
fn suppressed_flags_are_not_overwritten() {
    // {nf} add eax, ecx; add eax, ecx in the same encoding.
    assert_eq!(insn("62f47c0c01c8").flags_overwritten(), Flags::EMPTY);
    assert_eq!(insn("62f47c0801c8").flags_overwritten(), Flags::STATUS);
}

#[test]
fn a_no_operation_reads_no_register() {
    assert!(insn("660f1f440000").reads().is_empty());
    assert!(insn("0f1fc0").reads().is_empty());
    assert_eq!(names(insn("0f0d08").reads()), "rax");
}

#[test]
fn registers_of_32_bits_are_overwritten_by_32_bits() {
    let whole = |text| names(decode_padded(text, Mode::INTEL_32).expect("an instruction").overwrites());
    assert_eq!(whole("89c8"), "rax");
    assert_eq!(whole("61"), "rax rcx rdx rbx rsp rbp rsi rdi");
    assert_eq!(whole("6661"), "");
}

#[test]
fn sets_of_registers_have_what_sets_have() {
    let both = RegSet::EMPTY.with(Reg::RAX).with(Reg::RCX);
    let one = RegSet::EMPTY.with(Reg::RCX).with(Reg::RDX);
    assert_eq!(names(both.intersection(one)), "rcx");
    assert_eq!(names(both.difference(one)), "rax");
    assert!(both.complement().contains(Reg::RDX) && !both.complement().contains(Reg::RAX));
}
