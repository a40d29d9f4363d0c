use insn::arm64::decode;

fn assert_names(cases: &[(u32, &str)]) {
    for (word, name) in cases {
        assert_eq!(decode(*word).map(|insn| insn.mnemonic()), Ok(*name), "{word:08x}");
    }
}

#[test]
fn names_are_of_instructions_and_not_of_their_aliases() {
    assert_names(&[
        (0xaa01_03e0, "orr"),
        (0xd280_0020, "movz"),
        (0xf100_041f, "subs"),
        (0x5301_7c20, "ubfm"),
        (0x1ac0_2041, "lslv"),
        (0xd503_437f, "msr"),
        (0xd50b_7420, "sys"),
    ]);
}

#[test]
fn a_condition_is_part_of_a_branchs_name() {
    assert_names(&[(0x5400_0040, "b.eq"), (0x5400_004b, "b.lt"), (0x5400_0050, "bc.eq"), (0x1400_0001, "b")]);
}

#[test]
fn size_and_ordering_are_part_of_the_name() {
    assert_names(&[
        (0x3940_0020, "ldrb"),
        (0x7940_0020, "ldrh"),
        (0xf940_0020, "ldr"),
        (0xb980_0020, "ldrsw"),
        (0xb8e0_0041, "ldaddal"),
        (0x885f_fc20, "ldaxr"),
    ]);
}

#[test]
fn a_hint_has_its_name_where_it_has_a_meaning() {
    assert_names(&[(0xd503_201f, "nop"), (0xd503_203f, "yield"), (0xd503_233f, "paciasp"), (0xd503_245f, "bti")]);
}
