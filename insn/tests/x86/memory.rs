//! Memory operands: address, size, access.

use super::{decode_padded, insn};
use insn::Access::{self, None as Hint, Read, ReadWrite, Write};
use insn::x86::{Memory, Mode};

/// segment:[base+index*scale+displacement] as text.
fn address(m: &Memory) -> String {
    let mut text = format!("{}:", m.segment);
    if let Some(base) = m.base {
        text += &base.to_string();
    }
    if let Some(index) = m.index {
        text += &format!("+{index}*{}", m.scale);
    }
    if m.displacement != 0 { text + &format!("{:+}", m.displacement) } else { text }
}

fn check(table: &[(&str, &str, u16, Access)]) {
    for (text, expected, size, access) in table {
        let m = insn(text).memory().unwrap_or_else(|| panic!("{text}: no memory"));
        assert_eq!((address(&m).as_str(), m.size, m.access), (*expected, *size, *access), "{text}");
    }
}

#[test]
fn addresses_of_modrm_and_sib() {
    check(&[
        ("8b00", "ds:rax", 4, Read),
        ("8b442408", "ss:rsp+8", 4, Read),
        ("8b4500", "ss:rbp", 4, Read),
        ("418b4500", "ds:r13", 4, Read),
        ("8b0491", "ds:rcx+rdx*4", 4, Read),
        ("8b0425 10000000", "ds:+16", 4, Read),
        ("8b048d 10000000", "ds:+rcx*4+16", 4, Read),
        ("428b0420", "ds:rax+r12*1", 4, Read),
        ("8b05 f0ffffff", "ds:rip-16", 4, Read),
        ("648b0425 28000000", "fs:+40", 4, Read),
        ("2e8b442408", "ss:rsp+8", 4, Read),
        ("65a1 1000000000000000", "gs:+16", 4, Read),
        ("d5308b0408", "ds:r16+r17*1", 4, Read),
    ]);
}

#[test]
fn sizes_and_access_of_common_instructions() {
    check(&[
        ("668900", "ds:rax", 2, Write),
        ("488900", "ds:rax", 8, Write),
        ("8800", "ds:rax", 1, Write),
        ("0100", "ds:rax", 4, ReadWrite),
        ("3900", "ds:rax", 4, Read),
        ("488d00", "ds:rax", 0, Hint),
        ("0f1f00", "ds:rax", 4, Hint),
        ("0f1808", "ds:rax", 0, Hint),
        ("0fb600", "ds:rax", 1, Read),
        ("480fbf00", "ds:rax", 2, Read),
        ("486300", "ds:rax", 4, Read),
        ("ff10", "ds:rax", 8, Read),
        ("ff30", "ds:rax", 8, Read),
        ("8f00", "ds:rax", 8, Write),
        // Counted from rsp before the pop.
        ("8f0424", "ss:rsp+8", 8, Write),
        ("668f442408", "ss:rsp+10", 2, Write),
        ("ff28", "ds:rax", 6, Read),
        ("8700", "ds:rax", 4, ReadWrite),
        ("f00fc708", "ds:rax", 8, ReadWrite),
        ("f0480fc708", "ds:rax", 16, ReadWrite),
        ("0f9400", "ds:rax", 1, Write),
        ("d900", "ds:rax", 4, Read),
        ("dd00", "ds:rax", 8, Read),
        ("db28", "ds:rax", 10, Read),
        ("d930", "ds:rax", 28, Write),
        ("66d930", "ds:rax", 14, Write),
        ("dd30", "ds:rax", 108, Write),
        ("66dd30", "ds:rax", 94, Write),
        ("0fae00", "ds:rax", 512, Write),
        ("0fae20", "ds:rax", 0, ReadWrite),
        ("0fae10", "ds:rax", 4, Read),
        ("0fae38", "ds:rax", 64, Hint),
        ("0f0100", "ds:rax", 10, Write),
    ]);
}

#[test]
fn movsxd_reads_four_bytes_on_amd_and_its_operand_size_on_intel() {
    for (mode, size) in [(Mode::AMD_64, 4), (Mode::INTEL_64, 2)] {
        assert_eq!(decode_padded("66 6300", mode).unwrap().memory().map(|m| m.size), Some(size), "{mode:?}");
        assert_eq!(decode_padded("48 6300", mode).unwrap().memory().map(|m| m.size), Some(4), "{mode:?}");
    }
}

#[test]
fn sizes_of_vector_operands() {
    check(&[
        ("0f1000", "ds:rax", 16, Read),
        ("f30f1000", "ds:rax", 4, Read),
        ("f20f1100", "ds:rax", 8, Write),
        ("0f1200", "ds:rax", 8, Read),
        ("c5fc5800", "ds:rax", 32, Read),
        ("c5f95800", "ds:rax", 16, Read),
        ("c4e27d1800", "ds:rax", 4, Read),
        ("c4e27d5a00", "ds:rax", 16, Read),
        ("c4e27d2000", "ds:rax", 16, Read),
        ("c4e27d2100", "ds:rax", 8, Read),
        ("c4e2792100", "ds:rax", 4, Read),
        ("c4e27d2200", "ds:rax", 4, Read),
        ("c4e2792200", "ds:rax", 2, Read),
        ("c5fb2a00", "ds:rax", 4, Read),
        ("c4e1fb2a00", "ds:rax", 8, Read),
        ("c4e26990 0408", "ds:rax+zmm1*1", 4, Read),
    ]);
}

#[test]
fn disp8_of_evex_is_scaled_by_operand_or_element() {
    check(&[
        ("62f17c48 584001", "ds:rax+64", 64, Read),
        ("62f17c28 584001", "ds:rax+32", 32, Read),
        ("62f17c58 584001", "ds:rax+4", 4, Read),
        ("62f1fd58 584001", "ds:rax+8", 8, Read),
        ("62f17e08 584001", "ds:rax+4", 4, Read),
        ("62f17c48 588001000000", "ds:rax+1", 64, Read),
        ("62f27d48 204001", "ds:rax+32", 32, Read),
        ("62f27d49 90440801", "ds:rax+zmm1*1+4", 4, Read),
        ("62f27d41 90440801", "ds:rax+zmm17*1+4", 4, Read),
        ("62f27d48 8a4001", "ds:rax+4", 64, Write),
        ("62f57c48 584001", "ds:rax+64", 64, Read),
        ("62f57c58 584001", "ds:rax+2", 2, Read),
        // APX's promoted instructions do not scale.
        ("62f47c08 014001", "ds:rax+1", 4, ReadWrite),
        ("62f47808 010408", "ds:rax+r17*1", 4, ReadWrite),
    ]);
}

#[test]
fn implicit_memory_of_stack_and_strings() {
    type Expected = (&'static str, u16, Access);
    let table: &[(&str, &[Expected])] = &[
        ("50", &[("ss:rsp-8", 8, Write)]),
        ("6650", &[("ss:rsp-2", 2, Write)]),
        ("58", &[("ss:rsp", 8, Read)]),
        ("e800000000", &[("ss:rsp-8", 8, Write)]),
        ("c3", &[("ss:rsp", 8, Read)]),
        ("48cf", &[("ss:rsp", 40, Read)]),
        ("48cb", &[("ss:rsp", 16, Read)]),
        ("c9", &[("ss:rbp", 8, Read)]),
        ("c8100000", &[("ss:rsp-8", 8, Write)]),
        ("c8100003", &[("ss:rsp-32", 32, Write), ("ss:rbp-16", 16, Read)]),
        ("a4", &[("es:rdi", 1, Write), ("ds:rsi", 1, Read)]),
        ("48a7", &[("ds:rsi", 8, Read), ("es:rdi", 8, Read)]),
        ("486d", &[("es:rdi", 4, Write)]),
        ("64ac", &[("fs:rsi", 1, Read)]),
        ("66ab", &[("es:rdi", 2, Write)]),
        ("d7", &[("ds:rbx+rax*1", 1, Read)]),
        ("660ff7c1", &[("ds:rdi", 16, Write)]),
        ("0ff7c1", &[("ds:rdi", 8, Write)]),
        ("64 660ff7c1", &[("fs:rdi", 16, Write)]),
        ("64 66 0f38f801", &[("es:rax", 64, Write)]),
        ("0fa0", &[("ss:rsp-8", 8, Write)]),
        ("62f474 18fff2", &[("ss:rsp-16", 16, Write)]),
        ("62f474 188fc2", &[("ss:rsp", 16, Read)]),
        ("36 c8100000", &[("ss:rsp-8", 8, Write)]),
        ("66 c8100002", &[("ss:rsp-6", 6, Write), ("ss:rbp-2", 2, Read)]),
        ("c8100001", &[("ss:rsp-16", 16, Write)]),
        ("48cf", &[("ss:rsp", 40, Read)]),
        ("cf", &[("ss:rsp", 20, Read)]),
        ("ff18", &[("ss:rsp-8", 8, Write)]),
        ("0f01fc", &[("ds:rax", 64, Write)]),
        ("ff30", &[("ss:rsp-8", 8, Write)]),
        ("90", &[]),
    ];
    for (text, expected) in table {
        let found: Vec<_> =
            insn(text).implicit_memory().into_iter().flatten().map(|m| (address(&m), m.size, m.access)).collect();
        let expected: Vec<_> = expected.iter().map(|(a, s, x)| ((*a).to_owned(), *s, *x)).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn near_branches_with_66_move_two_bytes_on_amd() {
    for (text, displacement, access) in [("66e8 00000000", -2, Write), ("66ffd0", -2, Write), ("66c3", 0, Read)] {
        for (mode, size) in [(Mode::AMD_64, 2), (Mode::INTEL_64, 8)] {
            let [Some(m), None] = decode_padded(text, mode).unwrap().implicit_memory() else {
                panic!("{text}: one access")
            };
            assert_eq!(
                (m.displacement, m.size, m.access),
                (displacement / 2 * i64::from(size), size, access),
                "{text}"
            );
        }
    }
    for (mode, size) in [(Mode::AMD_64, 2), (Mode::INTEL_64, 8)] {
        assert_eq!(decode_padded("66ff20", mode).unwrap().memory().map(|m| m.size), Some(size), "{mode:?}");
    }
}

#[test]
fn implicit_memory_of_the_stack_outside_64_bit_mode() {
    let table = [
        ("50", -4, 4, Write),
        ("60", -32, 32, Write),
        ("6660", -16, 16, Write),
        ("61", 0, 32, Read),
        ("6661", 0, 16, Read),
        ("cf", 0, 12, Read),
        ("66cf", 0, 6, Read),
        ("9a 00000000 0000", -8, 8, Write),
        ("cb", 0, 8, Read),
    ];
    for (text, displacement, size, access) in table {
        let [Some(m), None] = decode_padded(text, Mode::INTEL_32).unwrap().implicit_memory() else {
            panic!("{text}: one access")
        };
        assert_eq!((m.displacement, m.size, m.access, m.address_size), (displacement, size, access, 4), "{text}");
    }
    let [push, _] = decode_padded("67 50", Mode::INTEL_64).unwrap().implicit_memory();
    assert_eq!(push.map(|m| m.address_size), Some(8), "67 changes no stack address");
}

#[test]
fn sizes_outside_64_bit_mode() {
    for (text, size) in [("0f0100", 6), ("0f0110", 6), ("62 00", 8), ("66 62 00", 4), ("0fc708", 8)] {
        assert_eq!(decode_padded(text, Mode::INTEL_32).unwrap().memory().map(|m| m.size), Some(size), "{text}");
    }
}

#[test]
fn outside_64_bit_mode_addresses_are_16_or_32_bits() {
    let table = [
        ("8b05 10000000", "ds:+16", 4),
        ("678b00", "ds:rbx+rsi*1", 2),
        ("678b01", "ds:rbx+rdi*1", 2),
        ("678b02", "ss:rbp+rsi*1", 2),
        ("678b03", "ss:rbp+rdi*1", 2),
        ("678b04", "ds:rsi", 2),
        ("678b05", "ds:rdi", 2),
        ("678b07", "ds:rbx", 2),
        ("678b4610", "ss:rbp+16", 2),
        ("678b06 1000", "ds:+16", 2),
        ("2e8b00", "cs:rax", 4),
        ("8b4500", "ss:rbp", 4),
    ];
    for (text, expected, address_size) in table {
        let m = decode_padded(text, Mode::INTEL_32).unwrap().memory().unwrap();
        assert_eq!((address(&m).as_str(), m.address_size), (expected, address_size), "{text}");
    }
}

#[test]
fn rip_relative_addresses_count_from_the_end() {
    let i = insn("48 8b05 f0ffffff");
    assert!(i.is_rip_relative());
    assert_eq!(i.rip_relative_address(0x1000), Some(0xff7));
    assert_eq!(insn("67 8b05 00000000").rip_relative_address(0xffff_fffe), Some(5));
    assert_eq!(insn("8b0425 00000000").rip_relative_address(0), None);
    assert!(!decode_padded("8b05 00000000", Mode::INTEL_32).unwrap().is_rip_relative());
}
