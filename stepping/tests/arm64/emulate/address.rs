//! Addresses and literals.

use insn::arm64::Reg;
use stepping::Fault;

use super::changes;
use crate::emulate;
use crate::machine::{DATA, Machine, memory};

/// `ldr` of a literal at a distance in bytes from the site, which is at [`DATA`].
fn literal(form: u32, distance: i64) -> u32 {
    form | (distance as u32 >> 2 & 0x7_ffff) << 5
}

#[test]
fn addresses_count_from_the_site() {
    let machine = Machine::new();
    let x3 = Reg::general(3);
    changes(&machine, 0x3000_0063, &[(x3, 0x100d), (Reg::PC, 0x1004)]);
    changes(&machine, 0x10ff_ffe3, &[(x3, 0xffc), (Reg::PC, 0x1004)]);
    changes(&machine, 0xb000_0023, &[(x3, 0x6000), (Reg::PC, 0x1004)]);
    changes(&machine, 0xf0ff_ffe3, &[(x3, 0), (Reg::PC, 0x1004)]);
}

#[test]
fn an_address_to_register_31_goes_nowhere() {
    let machine = Machine::new();
    changes(&machine, 0x3000_007f, &[(Reg::PC, 0x1004)]);
    changes(&machine, 0xb000_003f, &[(Reg::PC, 0x1004)]);
}

#[test]
fn literals_are_extended_as_their_form_says() {
    for (form, expected) in
        [(0x1800_0003, 0x8b8a_8988), (0x5800_0003, 0x8f8e_8d8c_8b8a_8988), (0x9800_0003, 0xffff_ffff_8b8a_8988)]
    {
        let mut machine = Machine::new();
        emulate(literal(form, 8), DATA).run(&mut machine, &mut memory()).unwrap();
        let mut after = Machine::new();
        after.put(Reg::general(3), expected).put(Reg::PC, DATA + 4);
        assert_eq!(machine, after, "{form:#010x}");
    }
}

#[test]
fn a_literal_to_register_31_is_read_and_goes_nowhere() {
    let mut machine = Machine::new();
    emulate(literal(0x5800_001f, 8), DATA).run(&mut machine, &mut memory()).unwrap();
    let mut after = Machine::new();
    after.put(Reg::PC, DATA + 4);
    assert_eq!(machine, after);
    let fault = emulate(literal(0x5800_001f, -8), DATA).run(&mut machine, &mut memory());
    assert_eq!(fault, Err(Fault::Page(DATA - 8)));
}

#[test]
fn a_literal_that_cannot_be_read_changes_nothing() {
    for (distance, at) in [(-8, DATA - 8), (252, DATA + 256)] {
        let mut machine = Machine::new();
        let fault = emulate(literal(0x5800_0003, distance), DATA).run(&mut machine, &mut memory());
        assert_eq!((fault, machine), (Err(Fault::Page(at)), Machine::new()));
    }
}
