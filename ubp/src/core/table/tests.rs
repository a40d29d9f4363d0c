use super::*;
use crate::arch::MODE;
use crate::core::{Inaccessible, Layout};

const BASE: u64 = 0x10_0000;

fn arena(capacity: u32) -> Arena<Box<[u8]>> {
    let layout = Layout::new(capacity);
    Arena::create(vec![0; layout.size() as usize].into_boxed_slice(), BASE, layout, 62, [0; 8]).unwrap()
}

impl Memory for Box<[u8]> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        (**self).read(offset, buffer)
    }
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        (**self).write(offset, bytes)
    }
}

/// A small generator of reproducible noise (xorshift64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn the_header_lies_as_the_table_of_the_documentation_says() {
    let layout = Layout::new(100);
    let memory = vec![0; layout.size() as usize].into_boxed_slice();
    let mut arena = Arena::create(memory, BASE, layout, 62, *b"the gate").unwrap();
    for site in [0x1000, 0x1001, 0x1002] {
        arena.insert(&Entry::new(site, &[0x90]), &[0xcc; 32]).unwrap();
    }
    arena.release(Number(1)).unwrap();
    let raw = arena.memory();
    assert_eq!(raw[..8], *b"ubparena");
    let word = |at: usize| u32::from_le_bytes(raw[at..at + 4].try_into().unwrap());
    // Version, architecture, capacity, index, in use, ever used, first free plus one, reserved.
    assert_eq!([8, 12, 16, 20, 24, 28, 32, 36].map(word), [1, 62, 100, 256, 2, 3, 2, 0]);
    assert_eq!(raw[40..48], *b"the gate");
}

#[test]
fn random_inserts_and_releases_keep_what_a_map_keeps() {
    let mut arena = arena(64);
    let mut expected = std::collections::BTreeMap::new();
    let mut noise = Noise(7);
    for _ in 0..20_000 {
        // Few distinct sites, so that chains in the index collide and wrap.
        let site = noise.next() % 96;
        if let Some(number) = expected.remove(&site) {
            arena.release(number).unwrap();
        } else if expected.len() < 64 {
            let number = arena.insert(&Entry::new(site, &[site as u8]), &[site as u8; 32]).unwrap();
            assert!(!expected.values().any(|taken| *taken == number));
            expected.insert(site, number);
        } else {
            assert_eq!(arena.insert(&Entry::new(site, &[0x90]), &[0; 32]), Err(Error::Full));
        }
        for site in 0..96 {
            let found = arena.find(site).unwrap();
            assert_eq!(found.map(|(number, _)| number), expected.get(&site).copied());
            if let Some((_, entry)) = found {
                assert_eq!(entry.bytes(), [site as u8]);
            }
        }
        assert_eq!(arena.count().unwrap() as usize, expected.len());
    }
}

#[test]
fn a_site_inserted_over_a_retired_entry_is_found_and_both_slots_stay_apart() {
    let mut arena = arena(4);
    let old = arena.insert(&Entry::new(0x1000, &[0x90]), &[1; 32]).unwrap();
    let mut retired = arena.entry(old).unwrap();
    retired.state = State::Retired;
    arena.set_entry(old, &retired).unwrap();
    let new = arena.insert(&Entry::new(0x1000, &[0xc3]), &[2; 32]).unwrap();
    assert_ne!(old, new);
    assert_eq!(arena.find(0x1000).unwrap().unwrap().0, new);
    assert_eq!(arena.slot_at(arena.slot(old)), Some((old, 0)));
    arena.release(old).unwrap();
    assert_eq!(arena.find(0x1000).unwrap().unwrap().0, new);
}

/// Memory that fails the test at accesses outside of it, and after too many accesses.
struct Watched {
    bytes: Box<[u8]>,
    accesses: std::cell::Cell<u32>,
}

impl Watched {
    fn look(&self, offset: u64, length: usize) -> std::ops::Range<usize> {
        self.accesses.set(self.accesses.get() + 1);
        assert!(self.accesses.get() < 1000, "an operation without end");
        let start = offset as usize;
        assert!(start + length <= self.bytes.len(), "outside at {offset:#x}");
        start..start + length
    }
}

impl Memory for Watched {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        buffer.copy_from_slice(&self.bytes[self.look(offset, buffer.len())]);
        Ok(())
    }
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        let place = self.look(offset, bytes.len());
        self.bytes[place].copy_from_slice(bytes);
        Ok(())
    }
}

#[test]
fn no_content_makes_an_operation_panic_hang_or_reach_outside() {
    let layout = Layout::new(8);
    let mut noise = Noise(99);
    for round in 0..20_000 {
        let mut bytes = vec![0u8; layout.size() as usize];
        for word in bytes.chunks_exact_mut(4) {
            // Mostly what passes at the first look: numbers of entries. Some words are empty, in some rounds none.
            let value = match noise.next() % 64 {
                0 => u32::MAX - (noise.next() % 3) as u32,
                1 => noise.next() as u32,
                2..10 if round % 2 == 0 => 0,
                _ => 1 + (noise.next() % 9) as u32,
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
        let mut arena =
            Arena { memory: Watched { bytes: bytes.into(), accesses: Default::default() }, base: BASE, layout };
        for _ in 0..8 {
            arena.memory.accesses.set(0);
            let site = noise.next() % 12;
            let number = Number((noise.next() % 12) as u32);
            match noise.next() % 6 {
                0 => drop(arena.find(site)),
                1 => drop(arena.insert(&Entry::new(site, &[0x90]), &[0xcc; 32])),
                2 => drop(arena.release(number)),
                3 => drop(arena.next_number()),
                4 => drop(arena.is_full()),
                _ => {
                    if let Ok(entry) = arena.entry(number) {
                        let _ = crate::core::passing(&entry, BASE, MODE);
                    }
                }
            }
        }
    }
}
