//! Registers and flags that instructions read and write.

use super::{decode_padded, insn};
use insn::x86::{Insn, Mode};

/// Text; registers read; registers written.
type Row = (&'static str, &'static str, &'static str);

fn check_insn(text: &str, i: &Insn, reads: &str, writes: &str) {
    let names = |set: insn::x86::RegSet| set.iter().map(|r| r.to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!((names(i.reads()), names(i.writes())), (reads.to_owned(), writes.to_owned()), "{text}");
}

fn check(table: &[Row]) {
    for (text, reads, writes) in table {
        check_insn(text, &insn(text), reads, writes);
    }
}

#[test]
fn general_registers_of_operands_and_addresses() {
    check(&[
        ("89c8", "rcx", "rax"),
        ("01c8", "rax rcx", "rax flags"),
        ("4d01c8", "r8 r9", "r8 flags"),
        ("8b4424 08", "rsp", "rax"),
        ("8b0491", "rcx rdx", "rax"),
        ("48 8b05 00000000", "rip", "rax"),
        ("64 488b0425 28000000", "fs_base", "rax"),
        ("65 8b01", "rcx gs_base", "rax"),
        ("64 48 8d0408", "rax rcx", "rax"),
        ("65 48 8d0408", "rax rcx", "rax"),
        ("67 64 8b00", "rax fs_base", "rax"),
        ("67 65 8b00", "rax gs_base", "rax"),
        ("88e0", "rax", "rax"),
        ("40 88e0", "rsp", "rax"),
        ("86ec", "rax rcx", "rax rcx"),
        ("b001", "", "rax"),
        ("31c0", "rax", "rax flags"),
        ("0f44c1", "rax rcx flags", "rax"),
        ("0f94c0", "flags", "rax"),
        ("0fbcc1", "rax rcx", "rax flags"),
        ("f30fbcc1", "rcx", "rax flags"),
        ("91", "rax rcx", "rax rcx"),
        ("90", "", ""),
        ("4190", "rax r8", "rax r8"),
    ]);
}

#[test]
fn implicit_general_registers() {
    check(&[
        ("f7e1", "rax rcx", "rax rdx flags"),
        ("f6e1", "rax rcx", "rax flags"),
        ("f7f1", "rax rcx rdx", "rax rdx flags"),
        ("48 99", "rax", "rdx"),
        ("48 98", "rax", "rax"),
        ("d3e0", "rax rcx", "rax flags"),
        ("0fa2", "rax rcx", "rax rcx rdx rbx"),
        ("0f31", "system", "rax rdx"),
        ("0fb10a", "rax rcx rdx", "rax flags"),
        ("48 0fc70f", "rax rcx rdx rbx rdi", "rax rdx flags"),
        ("0f05", "rip flags", "rcx r11 rip flags"),
        ("d7", "rax rbx", "rax"),
        ("9f", "flags", "rax"),
        ("e200", "rcx rip", "rcx rip"),
        ("e300", "rcx rip", "rip"),
        ("0f01d0", "rcx xcr0", "rax rdx"),
        ("0f01ee", "rcx pkru", "rax rdx"),
        ("c4e27b f6c1", "rcx rdx", "rax"),
    ]);
}

#[test]
fn strings_and_their_repetition() {
    check(&[
        ("a4", "rsi rdi flags", "rsi rdi"),
        ("f3a4", "rcx rsi rdi flags", "rcx rsi rdi"),
        ("aa", "rax rdi flags", "rdi"),
        ("ac", "rsi flags", "rax rsi"),
        ("f3ac", "rax rcx rsi flags", "rax rcx rsi"),
        ("f2ae", "rax rcx rdi flags", "rcx rdi flags"),
        ("64a4", "rsi rdi flags fs_base", "rsi rdi"),
    ]);
}

#[test]
fn stack_calls_and_returns() {
    check(&[
        ("50", "rax rsp", "rsp"),
        ("58", "rsp", "rax rsp"),
        ("5c", "rsp", "rsp"),
        ("9c", "rsp flags", "rsp"),
        ("9d", "rsp", "rsp flags"),
        ("c9", "rbp", "rsp rbp"),
        ("c8100000", "rsp rbp", "rsp rbp"),
        ("e800000000", "rsp rip ssp", "rsp rip ssp"),
        ("ffd0", "rax rsp rip ssp", "rsp rip ssp"),
        ("c3", "rsp ssp", "rsp rip ssp"),
        ("ffe0", "rax", "rip"),
        ("eb00", "rip", "rip"),
        ("7400", "rip flags", "rip"),
        ("f3480f1ec8", "rax ssp", "rax"),
        ("f3480faee8", "rax ssp", "ssp"),
    ]);
}

#[test]
fn vectors_masks_and_control_words() {
    check(&[
        ("0f58c1", "zmm0 zmm1 mxcsr", "zmm0 mxcsr"),
        ("f20f51c1", "zmm1 mxcsr", "zmm0 mxcsr"),
        ("660f3810c1", "zmm0 zmm1", "zmm0"),
        ("c5e858c1", "zmm1 zmm2 mxcsr", "zmm0 mxcsr"),
        ("c4e3694ac130", "zmm1 zmm2 zmm3", "zmm0"),
        ("62f16c4858c1", "zmm1 zmm2 mxcsr", "zmm0 mxcsr"),
        // Merging keeps elements of the destination, zeroing does not.
        ("62f16c4958c1", "zmm0 zmm1 zmm2 k1 mxcsr", "zmm0 mxcsr"),
        ("62f16cc958c1", "zmm1 zmm2 k1 mxcsr", "zmm0 mxcsr"),
        ("62816c4058c1", "zmm18 zmm25 mxcsr", "zmm16 mxcsr"),
        ("62f1754976c2", "zmm1 zmm2 k1", "k0"),
        ("62f27d4990 0c10", "rax zmm1 zmm2 k1", "zmm1 k1"),
        ("c4e26990 0408", "rax zmm0 zmm1 zmm2", "zmm0 zmm2"),
        ("c5ec41cb", "k2 k3", "k1"),
        ("c5f877", "", "zmm0 zmm1 zmm2 zmm3 zmm4 zmm5 zmm6 zmm7 zmm8 zmm9 zmm10 zmm11 zmm12 zmm13 zmm14 zmm15"),
        ("0fae10", "rax", "mxcsr"),
        ("0fae18", "rax mxcsr", ""),
        ("0ffcc1", "mm0 mm1 x87", "mm0 x87"),
        ("d8c1", "mm0 mm1 mm2 mm3 mm4 mm5 mm6 mm7 x87", "mm0 mm1 mm2 mm3 mm4 mm5 mm6 mm7 x87"),
        // Moved or exact: no rounding, no exception.
        ("62f27d4988c1", "zmm0 zmm1 k1", "zmm0"),
        ("62f27dc98bc8", "zmm1 k1", "zmm0"),
        ("f30fe6c1", "zmm1", "zmm0"),
        ("f20fe6c1", "zmm1 mxcsr", "zmm0 mxcsr"),
        // Denormals may be zeros, though nothing is ever raised.
        ("62f27d484cc1", "zmm1 mxcsr", "zmm0"),
        ("62f275084fc2", "zmm1 zmm2 mxcsr", "zmm0"),
        ("62f37d4866c138", "zmm1 mxcsr", "k0"),
        ("0f53c1", "zmm1", "zmm0"),
        // What it stores of a register's tag depends on what the register holds.
        ("d930", "rax mm0 mm1 mm2 mm3 mm4 mm5 mm6 mm7 x87", "x87"),
        ("c4e27b4b0408", "rax rcx tilecfg", "tmm0"),
        ("c4e2735ec2", "tmm0 tmm1 tmm2 tilecfg", "tmm0"),
    ]);
}

#[test]
fn segments_and_system_registers() {
    check(&[
        ("8ed8", "rax", "ds"),
        ("8ee0", "rax fs_base", "fs fs_base"),
        ("8cd8", "ds", "rax"),
        ("f3480faec0", "fs_base", "rax"),
        ("f3480faed0", "rax", "fs_base"),
        ("0f20c0", "system", "rax flags"),
        ("0f30", "rax rcx rdx", "system"),
    ]);
}

#[test]
fn apx_registers() {
    check(&[
        ("d510 01c0", "rax r16", "r16 flags"),
        ("d510 89c8", "rcx", "r16"),
        // ND writes vvvv and leaves the first operand; NF leaves the flags.
        ("62f46c1801c8", "rax rcx", "rdx flags"),
        ("62f46c1c01c8", "rax rcx", "rdx"),
    ]);
}

#[test]
fn thirty_two_bit_mode_has_eight_registers() {
    let table = [
        ("40", "rax", "rax flags"),
        ("60", "rax rcx rdx rbx rsp rbp rsi rdi", "rsp"),
        ("c5e858c1", "zmm1 zmm2 mxcsr", "zmm0 mxcsr"),
    ];
    for (text, reads, writes) in table {
        check_insn(text, &decode_padded(text, Mode::INTEL_32).unwrap(), reads, writes);
    }
}

#[test]
fn flags_read_and_written() {
    let table = [
        ("01c8", "", "cf pf af zf sf of"),
        ("11c8", "cf", "cf pf af zf sf of"),
        ("ffc0", "", "pf af zf sf of"),
        ("f7d0", "", ""),
        ("d1d0", "cf", "cf of"),
        ("7700", "cf zf", ""),
        ("7c00", "sf of", ""),
        ("0f4fc1", "zf sf of", ""),
        ("7a00", "pf", ""),
        ("fc", "", "df"),
        ("a4", "df", ""),
        ("9e", "", "cf pf af zf sf"),
        ("0fa3c8", "", "cf pf af sf of"),
        ("660f38f6c1", "cf", "cf"),
        ("f30f38f6c1", "of", "of"),
        ("0f2ec1", "", "cf pf af zf sf of"),
        ("0f01cb", "", "ac"),
        // NF leaves them alone; ccmp reads its condition's.
        ("62f47c0c01c8", "", ""),
        ("62f47c0801c8", "", "cf pf af zf sf of"),
        ("62f4040439c8", "zf", "cf pf af zf sf of"),
    ];
    for (text, read, written) in table {
        let i = insn(text);
        let names = |f: insn::x86::Flags| format!("{f:?}").trim_matches(['{', '}']).replace(',', "");
        assert_eq!((names(i.flags_read()), names(i.flags_written())), (read.to_owned(), written.to_owned()), "{text}");
    }
}

#[test]
fn operands_in_modrm_rm_are_registers_where_its_mod_says_so() {
    check(&[
        ("0f50c1", "zmm1", "rax"),
        ("0f58c8", "zmm0 zmm1 mxcsr", "zmm1 mxcsr"),
        ("0f5808", "rax zmm1 mxcsr", "zmm1 mxcsr"),
        ("0ffcca", "mm1 mm2 x87", "mm1 x87"),
        ("0ffc08", "rax mm1 x87", "mm1 x87"),
        ("0fd7c1", "mm1 x87", "rax x87"),
        ("c5f990ca", "k2", "k1"),
        ("c5f99008", "rax", "k1"),
        ("660f1aca", "bnd2", "bnd1"),
        ("660f1a08", "rax", "bnd1"),
    ]);
}

#[test]
fn some_operands_stand_for_several_registers() {
    check(&[
        ("62f26f48 68d9", "zmm1 zmm2", "k2 k3"),
        ("62f24f48 9a08", "rax zmm1 zmm4 zmm5 zmm6 zmm7 mxcsr", "zmm1 mxcsr"),
        ("62f24748 9a08", "rax zmm1 zmm4 zmm5 zmm6 zmm7 mxcsr", "zmm1 mxcsr"),
    ]);
}

#[test]
fn a_condition_reads_its_flags() {
    use insn::x86::Flags;
    let table = [
        Flags::OF,
        Flags::CF,
        Flags::ZF,
        Flags::CF.union(Flags::ZF),
        Flags::SF,
        Flags::PF,
        Flags::SF.union(Flags::OF),
        Flags::SF.union(Flags::OF).union(Flags::ZF),
    ];
    for condition in 0..16u8 {
        let flags = table[usize::from(condition >> 1)];
        for text in [format!("{:02x}00", 0x70 | condition), format!("0f{:02x}c0", 0x40 | condition)] {
            assert_eq!(insn(&text).flags_read(), flags, "{text}");
        }
    }
}

#[test]
fn all_effects_at_once_are_those_told_one_by_one() {
    for text in ["01c8", "0fb10a", "f3a4", "62f17c49 5808", "640fb108", "7400", "e800000000", "f7e1"] {
        let i = insn(text);
        let effects = i.effects();
        assert_eq!((effects.reads, effects.writes), (i.reads(), i.writes()), "{text}");
        assert_eq!((effects.flags_read, effects.flags_written), (i.flags_read(), i.flags_written()), "{text}");
        assert_eq!((effects.memory, effects.implicit_memory), (i.memory(), i.implicit_memory()), "{text}");
    }
}
