use insn::x86::{Mode, decode};

fn name(bytes: &[u8], mode: Mode) -> &'static str {
    decode(bytes, mode).unwrap_or_else(|error| panic!("{bytes:02x?}: {error}")).mnemonic()
}

fn assert_names(mode: Mode, cases: &[(&[u8], &str)]) {
    for (bytes, expected) in cases {
        assert_eq!(name(bytes, mode), *expected, "{bytes:02x?}");
    }
}

#[test]
fn a_condition_is_part_of_the_name() {
    assert_names(
        Mode::INTEL_64,
        &[
            (&[0x74, 0], "je"),
            (&[0x0f, 0x85, 0, 0, 0, 0], "jne"),
            (&[0x0f, 0x4f, 0xc1], "cmovg"),
            (&[0x0f, 0x92, 0xc0], "setb"),
            (&[0x62, 0xf4, 0x04, 0x0a, 0x38, 0xc8], "ccmpt"),
            (&[0x62, 0xf4, 0x04, 0x04, 0x84, 0xc8], "cteste"),
        ],
    );
}

#[test]
fn an_operand_size_is_part_of_the_name_where_the_manual_has_one_for_each() {
    assert_names(
        Mode::INTEL_64,
        &[
            (&[0xa4], "movsb"),
            (&[0x66, 0xa5], "movsw"),
            (&[0xa5], "movsd"),
            (&[0x48, 0xa5], "movsq"),
            (&[0x66, 0x98], "cbw"),
            (&[0x98], "cwde"),
            (&[0x48, 0x98], "cdqe"),
            (&[0x66, 0x99], "cwd"),
            (&[0x99], "cdq"),
            (&[0x48, 0x99], "cqo"),
            (&[0x9c], "pushfq"),
            (&[0x48, 0xcf], "iretq"),
            (&[0x66, 0x48, 0x0f, 0x6e, 0xc0], "movq"),
            (&[0x0f, 0xc7, 0x08], "cmpxchg8b"),
            (&[0x48, 0x0f, 0xc7, 0x08], "cmpxchg16b"),
        ],
    );
    assert_names(
        Mode::INTEL_32,
        &[(&[0x9c], "pushfd"), (&[0x60], "pushad"), (&[0x66, 0x60], "pusha"), (&[0x98], "cwde")],
    );
}

#[test]
fn an_address_size_is_part_of_the_name_of_jcxz() {
    assert_names(Mode::INTEL_64, &[(&[0xe3, 0], "jrcxz"), (&[0x67, 0xe3, 0], "jecxz")]);
    assert_names(Mode::INTEL_32, &[(&[0xe3, 0], "jecxz"), (&[0x67, 0xe3, 0], "jcxz")]);
}

#[test]
fn prefixes_are_no_part_of_the_name_unless_they_select_it() {
    assert_names(
        Mode::INTEL_64,
        &[
            (&[0xf3, 0xaa], "stosb"),
            (&[0xf0, 0xff, 0x00], "inc"),
            (&[0xf3, 0x90], "pause"),
            (&[0x90], "nop"),
            (&[0x41, 0x90], "xchg"),
            (&[0xf3, 0x0f, 0x1e, 0xfa], "endbr64"),
        ],
    );
}

#[test]
fn what_modrm_selects_has_a_name_of_its_own() {
    assert_names(
        Mode::INTEL_64,
        &[
            (&[0xd8, 0xf1], "fdiv"),
            (&[0xd9, 0xff], "fcos"),
            (&[0xd9, 0xc9], "fxch"),
            (&[0xda, 0x38], "fidivr"),
            (&[0x0f, 0x12, 0xc1], "movhlps"),
            (&[0x0f, 0x12, 0x01], "movlps"),
            (&[0xc4, 0xe2, 0x78, 0xf3, 0xd1], "blsmsk"),
        ],
    );
}
