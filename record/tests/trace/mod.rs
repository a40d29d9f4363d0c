//! Traces as the tests read them. The tests that use nothing beside this module are part of the published package.
// Each test program uses a part of it.
#![allow(dead_code, unreachable_pub)]

use record::{Checker, Item, read};

/// The items of a whole trace.
pub(crate) fn items(trace: &[u8]) -> Vec<Item> {
    let mut reader = read(trace).expect("a header");
    let items = reader.by_ref().map(|item| item.expect("a whole trace")).collect();
    assert!(reader.is_complete());
    items
}

/// The steps on which `insn` and the processor disagree, and the number of steps compared.
pub(crate) fn check(trace: &[u8]) -> (Vec<String>, u64) {
    let reader = read(trace).expect("a header");
    let mut checker = Checker::new(reader.header());
    let wrong = items(trace).iter().filter_map(|item| checker.item(item)).map(|wrong| wrong.to_string()).collect();
    (wrong, checker.checked())
}

/// Numbers that depend on the seed alone (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
