use trampoline::x86::{Displacement, Refusal, TRAPPING, Trap, covered, jump, mirror_jump, trap};

#[test]
fn every_covered_byte_traps() {
    for displacement in Displacement::candidates().step_by(97) {
        assert!(jump(displacement)[1..].iter().all(|byte| trap(*byte).is_some()));
    }
}

#[test]
fn a_trap_is_the_jumps_only_if_kind_and_place_fit() {
    let displacement = Displacement::new(i32::from_le_bytes([0x06, 0xcc, 0xf4, 0x06])).unwrap();
    for offset in 0..8 {
        let undefined = covered(0x1000, displacement, Trap::Undefined, 0x1000 + offset);
        assert_eq!(undefined, [1, 4].contains(&offset).then_some(offset as u8));
        let breakpoint = covered(0x1000, displacement, Trap::Breakpoint, 0x1000 + offset);
        assert_eq!(breakpoint, (offset == 3).then_some(2));
        let protection = covered(0x1000, displacement, Trap::Protection, 0x1000 + offset);
        assert_eq!(protection, (offset == 3).then_some(3));
    }
}

#[test]
fn places_in_the_mirror_do_not_overlap() {
    let displacement = Displacement::new(0x1717_1717).unwrap();
    let range = displacement.mirror_of(&(0x40_0000..0x40_1000)).unwrap();
    assert_eq!(displacement.mirror(0x40_0000), range.start);
    assert_eq!(displacement.mirror(0x40_0fff) + 5, range.end - 1);
    assert_eq!(displacement.mirror(0x40_0005) - displacement.mirror(0x40_0000), 5);
}

#[test]
fn a_mirror_below_zero_is_none() {
    let down = Displacement::new(i32::from_le_bytes([0xcc; 4])).unwrap();
    assert_eq!(down.mirror_of(&(0x40_0000..0x50_0000)), None);
}

#[test]
fn the_mirror_reaches_two_gibibytes() {
    assert_eq!(mirror_jump(0x1000, 0x1005), Ok([0xe9, 0, 0, 0, 0]));
    assert_eq!(mirror_jump(0, 1 << 32), Err(Refusal::OutOfReach(1 << 32)));
}

#[test]
fn the_table_is_sorted() {
    assert!(TRAPPING.windows(2).all(|two| two[0].0 < two[1].0));
}
