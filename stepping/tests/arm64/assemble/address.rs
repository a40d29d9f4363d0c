//! Copies of what uses its own address.

use insn::arm64::Reg;
use stepping::arm64::{Exit, Progress, Scratch};

use crate::{code, emulate, words};

const FAR: u64 = 0x40_0000;

#[test]
fn a_vector_literal_within_reach_gets_another_distance() {
    for (form, loaded) in [(0x1c00_0043, 0x1c00_0003), (0x5c00_0043, 0x5c00_0003), (0x9c00_0043, 0x9c00_0003)] {
        // .+8 at 0x1000, from 0x2000: -0xff8; b 0x1004
        let (code, words) = code(form, 0x1000, 0x2000);
        let distance = (-0xff8_i32 as u32 >> 2 & 0x7_ffff) << 5;
        assert_eq!((code.exit, code.scratch), (Exit::Jump, None));
        assert_eq!(words, [loaded | distance, 0x17ff_fc00], "{form:#010x}");
    }
}

#[test]
fn a_literal_out_of_reach_is_read_through_a_scratch_register() {
    for (form, loaded) in [
        (0x1c00_0043, 0xbd40_0003), // ldr s3, [x0]
        (0x5c00_0043, 0xfd40_0003), // ldr d3, [x0]
        (0x9c00_0043, 0x3dc0_0003), // ldr q3, [x0]
        (0x1800_0043, 0xb940_0003), // ldr w3, [x0]
        (0x5800_0043, 0xf940_0003), // ldr x3, [x0]
        (0x9800_0043, 0xb980_0003), // ldrsw x3, [x0]
        (0x5800_005f, 0xf940_001f), // ldr xzr, [x0]
        (0x5800_0040, 0xf940_0020), // ldr x0, [x1]
        (0xd800_0041, 0xf980_0001), // prfm pldl1strm, [x0]
    ] {
        let slot = match form & 0x0400_0000 {
            0 => emulate(form, FAR).slot(),
            _ => crate::slot(form, FAR),
        };
        let code = slot.assemble(0x1000).unwrap();
        let register = Reg::general(u32::from(form & 31 == 0));
        assert_eq!(words(&code), [loaded], "{form:#010x}");
        assert_eq!(code.scratch, Some(Scratch { register, value: FAR + 8 }), "{form:#010x}");
        assert_eq!(code.exit, Exit::Trap(4));
        assert_eq!(code.original(4).unwrap().pc, FAR + 4);
    }
}

#[test]
fn without_scratch_registers_a_literal_out_of_reach_is_read_by_the_register_that_it_is_loaded_into() {
    // ldr w3, ldr x3, ldrsw x3: of [x3]; x3 is loaded by ldr x3, .+16
    for (form, loaded) in [(0x1800_0043, 0xb940_0063), (0x5800_0043, 0xf940_0063), (0x9800_0043, 0xb980_0063)] {
        let slot = emulate(form, FAR).slot();
        let code = slot.assemble_near(0x1000).unwrap();
        let back = 0x1400_0000 | (FAR + 4 - 0x1008) as u32 >> 2;
        assert_eq!(words(&code), [0x5800_0083, loaded, back, 0xd503_201f, FAR as u32 + 8, 0], "{form:#010x}");
        assert_eq!((code.exit, code.scratch), (Exit::Jump, None));
        for offset in [0, 4] {
            let place = code.original(offset).unwrap();
            assert_eq!((place.pc, place.progress), (FAR, Progress::Before), "{form:#010x} {offset}");
        }
        assert_eq!(code.original(8).unwrap().pc, FAR + 4);
        let near = FAR + 0x1000;
        assert_eq!(slot.assemble_near(near).unwrap().bytes, slot.assemble(near).unwrap().bytes);
        let code = slot.assemble_near(FAR + (1 << 30)).unwrap();
        assert_eq!((code.exit, code.scratch), (Exit::Trap(8), None));
    }
    // prfm pldl1keep
    let code = emulate(0xd800_0040, FAR).slot().assemble_near(0x1000).unwrap();
    assert_eq!((words(&code)[0], code.exit, code.scratch), (0xd503_201f, Exit::Jump, None));
    // ldr xzr, ldr q3
    for slot in [emulate(0x5800_005f, FAR).slot(), crate::slot(0x9c00_0043, FAR)] {
        assert_eq!(slot.assemble_near(0x1000).unwrap(), slot.assemble(0x1000).unwrap());
    }
}

#[test]
fn the_reach_of_a_literal_ends_at_one_mib() {
    let scratch = |at: u64| code(0x1c00_0043, 0x200_0000, at).0.scratch.is_some();
    let literal = 0x200_0008;
    assert!(!scratch(literal + (1 << 20)) && scratch(literal + (1 << 20) + 4));
    assert!(scratch(literal - (1 << 20)) && !scratch(literal - (1 << 20) + 4));
}

#[test]
fn the_copy_of_an_address_holds_the_address() {
    for (word, load, value) in [
        (0x3000_0063, 0x5800_0043, 0x1_0000_100d_u64), // adr x3, .+13: ldr x3, .+8
        (0x3000_007f, 0x5800_005f, 0x1_0000_100d),
        (0xb000_0023, 0x5800_0043, 0x1_0000_6000),
    ] {
        let code = emulate(word, 0x1_0000_1000).slot().assemble(0x1_0000_2000).unwrap();
        assert_eq!(words(&code), [load, 0x17ff_fc00, value as u32, (value >> 32) as u32], "{word:#010x}");
    }
}

#[test]
fn the_address_that_a_return_address_was_signed_with_stays_the_original() {
    // autiasppc .-8, autibsppc .-8: autiasppcr x0, autibsppcr x0
    for (word, copy) in [(0xf380_005f, 0xdac1_901e), (0xf3a0_005f, 0xdac1_941e)] {
        let (code, words) = code(word, 0x1000, 0x2000);
        assert_eq!((words.as_slice(), code.exit), (&[copy][..], Exit::Trap(4)), "{word:#010x}");
        assert_eq!(code.scratch, Some(Scratch { register: Reg::general(0), value: 0xff8 }));
        assert_eq!(code.original(4).unwrap().pc, 0x1004);
    }
    // retaasppc .-8, retabsppc .-8: retaasppcr x0, retabsppcr x0
    for (word, copy) in [(0x5500_005f, 0xd65f_0be0), (0x5520_005f, 0xd65f_0fe0)] {
        let (code, words) = code(word, 0x1000, 0x2000);
        assert_eq!((words.as_slice(), code.exit), (&[copy][..], Exit::Step), "{word:#010x}");
        assert_eq!(code.scratch, Some(Scratch { register: Reg::general(0), value: 0xff8 }));
    }
}

#[test]
fn what_stands_for_an_authentication_takes_the_address_from_the_scratch_register() {
    for word in [0xdac1_901e, 0xdac1_941e, 0xd65f_0be0, 0xd65f_0fe0] {
        let reads = crate::insn(word).reads();
        assert!(reads.contains(Reg::general(0)) && reads.contains(Reg::SP), "{word:#010x}: {reads:?}");
    }
}
