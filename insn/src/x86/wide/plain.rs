//! Vectors without vector instructions, which tests compare with those of processors.

use super::vectors::{BLOCK, Vectors};

#[derive(Clone, Copy)]
pub(super) struct Plain;

fn of_two(a: [u8; BLOCK], b: [u8; BLOCK], of: impl Fn(u8, u8) -> u8) -> [u8; BLOCK] {
    core::array::from_fn(|at| of(a[at], b[at]))
}

impl Vectors for Plain {
    type Block = [u8; BLOCK];

    fn prefetch(self, _: &[u8]) {}
    fn load(self, bytes: &[u8; BLOCK]) -> [u8; BLOCK] {
        *bytes
    }
    fn store(self, block: [u8; BLOCK], bytes: &mut [u8; BLOCK]) {
        *bytes = block;
    }
    fn each(self, byte: u8) -> [u8; BLOCK] {
        [byte; BLOCK]
    }
    fn table(self, table: &[u8; 16]) -> [u8; BLOCK] {
        core::array::from_fn(|at| table[at % 16])
    }
    fn look_up(self, table: [u8; BLOCK], indices: [u8; BLOCK]) -> [u8; BLOCK] {
        assert!(indices.iter().all(|index| *index < 16), "{indices:02x?}");
        indices.map(|index| table[usize::from(index)])
    }
    fn and(self, a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
        of_two(a, b, |a, b| a & b)
    }
    fn or(self, a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
        of_two(a, b, |a, b| a | b)
    }
    fn xor(self, a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
        of_two(a, b, |a, b| a ^ b)
    }
    fn without(self, a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
        of_two(a, b, |a, b| a & !b)
    }
    fn add(self, a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
        of_two(a, b, u8::wrapping_add)
    }
    fn subtract(self, a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
        of_two(a, b, u8::wrapping_sub)
    }
    fn equal(self, a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
        of_two(a, b, |a, b| if a == b { 0xff } else { 0 })
    }
    fn signs(self, a: [u8; BLOCK]) -> [u8; BLOCK] {
        a.map(|byte| if byte & 0x80 != 0 { 0xff } else { 0 })
    }
    fn high_nibbles(self, a: [u8; BLOCK]) -> [u8; BLOCK] {
        a.map(|byte| byte >> 4)
    }
    fn ahead(self, a: [u8; BLOCK], next: [u8; BLOCK]) -> [u8; BLOCK] {
        core::array::from_fn(|at| a.get(at + 1).copied().unwrap_or(next[0]))
    }
}
