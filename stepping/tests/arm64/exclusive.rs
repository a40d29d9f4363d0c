//! Breakpoints in and around exclusive sequences.

use stepping::arm64::{Plan, Refusal, WINDOW, plan, plan_in};

use crate::insn;

const NOP: u32 = 0xd503_201f;
const ADD: u32 = 0x9100_0400;
/// `ldxr x1, [x0]`
const LOAD: u32 = 0xc85f_7c01;
/// `stxr w2, x1, [x0]`
const STORE: u32 = 0xc802_7c01;
const CLEAR: u32 = 0xd503_3f5f;
const SVC: u32 = 0xd400_0001;
const RET: u32 = 0xd65f_03c0;
const PC: u64 = 0x1000;

/// `b`, `cbz w2` and `cbnz w2` over a number of words.
fn b(words: i32) -> u32 {
    0x1400_0000 | words as u32 & 0x3ff_ffff
}
fn cbz(words: i32) -> u32 {
    0x3400_0002 | (words as u32 & 0x7_ffff) << 5
}
fn cbnz(words: i32) -> u32 {
    cbz(words) | 1 << 24
}

/// One letter for each word of `code`: `x` where a breakpoint is refused.
fn refused(code: &[u32]) -> String {
    let letter = |index: usize| {
        let plan = plan_in(&insn(code[index]), PC + 4 * index as u64, code, index);
        if matches!(plan, Plan::Refuse(_)) { 'x' } else { '.' }
    };
    (0..code.len()).map(letter).collect()
}

#[test]
fn from_behind_the_load_to_the_store_breakpoints_are_refused() {
    assert_eq!(refused(&[NOP, LOAD, ADD, ADD, STORE, cbnz(-4), NOP]), "..xxx..");
}

#[test]
fn a_store_alone_is_refused() {
    assert_eq!(plan(&insn(STORE), PC), Plan::Refuse(Refusal::StoreExclusive));
    assert!(matches!(plan(&insn(LOAD), PC), Plan::Slot(_)));
}

#[test]
fn the_nearest_addresses_that_will_do_are_named() {
    let code = [NOP, LOAD, ADD, ADD, STORE, cbnz(-4), NOP];
    for index in 2..5 {
        let plan = plan_in(&insn(code[index]), PC + 4 * index as u64, &code, index);
        let refusal = Refusal::ExclusiveRegion { before: Some(PC + 4), after: Some(PC + 20) };
        assert_eq!(plan, Plan::Refuse(refusal), "{index}");
    }
    // Where the code ends there is none.
    let refusal = Refusal::ExclusiveRegion { before: None, after: None };
    assert_eq!(plan_in(&insn(STORE), PC, &[STORE], 0), Plan::Refuse(refusal));
}

#[test]
fn the_way_out_of_a_comparison_is_free() {
    // 1: ldxr; cbz 2f; stxr; cbnz 1b; 2: nop
    assert_eq!(refused(&[LOAD, cbz(3), STORE, cbnz(-3), NOP]), ".xx..");
}

#[test]
fn a_part_that_lies_elsewhere_is_found() {
    // ldxr; cbz 3f; 2: stxr; cbnz 1b; ret; 3: add; b 2b
    assert_eq!(refused(&[LOAD, cbz(4), STORE, cbnz(-3), RET, ADD, b(-4), NOP]), ".xx..xx.");
    // The same, before the load.
    assert_eq!(refused(&[ADD, b(4), NOP, LOAD, cbz(-4), STORE, cbnz(-3)]), "xx..xx.");
}

#[test]
fn a_load_that_no_store_follows_refuses_nothing() {
    // The wait of a spin lock: ldxr; wfe; cbnz 1b
    assert_eq!(refused(&[LOAD, 0xd503_205f, cbnz(-2), RET]), "....");
    assert_eq!(refused(&[LOAD, CLEAR, NOP, STORE]), "...x");
    assert_eq!(refused(&[LOAD, ADD, SVC, NOP, STORE]), "....x");
    assert_eq!(refused(&[LOAD, ADD, RET, NOP, STORE]), "....x");
    assert_eq!(refused(&[LOAD, ADD, RET, NOP, STORE]), "....x");
}

#[test]
fn a_second_load_begins_anew() {
    assert_eq!(refused(&[LOAD, ADD, LOAD, ADD, STORE]), "...xx");
}

#[test]
fn what_is_no_instruction_ends_a_region() {
    let code = [LOAD, NOP, 0x2000_0000, NOP, STORE];
    assert!(!matches!(plan_in(&insn(NOP), PC + 4, &code, 1), Plan::Refuse(_)));
}

#[test]
fn a_region_that_fills_the_window_is_seen_from_its_midst() {
    let mut code = vec![NOP; 400];
    let site = 200;
    (code[site - WINDOW], code[site + WINDOW]) = (LOAD, STORE);
    let refusal = Refusal::ExclusiveRegion { before: Some(PC - 4 * WINDOW as u64), after: None };
    assert_eq!(plan_in(&insn(NOP), PC, &code, site), Plan::Refuse(refusal));
    assert!(!matches!(plan_in(&insn(NOP), PC, &code, site + 1), Plan::Refuse(_)));
    assert!(!matches!(plan_in(&insn(NOP), PC, &code, site - 1), Plan::Refuse(_)));
}

#[test]
fn code_without_exclusives_and_places_outside_of_it_are_free() {
    assert_eq!(refused(&[NOP, ADD, b(-1), RET]), "....");
    assert!(matches!(plan_in(&insn(ADD), PC, &[LOAD, ADD, STORE], 7), Plan::Slot(_)));
}
