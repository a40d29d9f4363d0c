use super::*;

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
    let mut arena = arena(100);
    arena.insert(&Entry::new(0x1000, &[0x90]), &[0xcc; 32]).unwrap();
    let raw = arena.memory();
    assert_eq!(raw[..8], *b"ubparena");
    let word = |at: usize| u32::from_le_bytes(raw[at..at + 4].try_into().unwrap());
    assert_eq!([8, 12, 16, 20, 24, 28, 32].map(word), [1, 62, 100, 256, 1, 1, 0]);
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

#[test]
fn no_content_makes_an_operation_panic_hang_or_reach_outside() {
    let layout = Layout::new(8);
    let mut noise = Noise(99);
    for round in 0..20_000 {
        let mut raw = vec![0u8; layout.size() as usize];
        for byte in raw.iter_mut() {
            // Mostly small numbers: large ones are refused at the first look.
            *byte = match round % 3 {
                0 => noise.next() as u8,
                1 => (noise.next() % 10) as u8,
                _ => (noise.next() % 40).saturating_sub(30) as u8,
            };
        }
        let mut arena = Arena { memory: raw.into_boxed_slice(), base: BASE, layout };
        for _ in 0..8 {
            let site = noise.next() % 12;
            let _ = arena.find(site);
            let _ = arena.insert(&Entry::new(site, &[0x90]), &[0xcc; 32]);
            let _ = arena.release(Number((noise.next() % 12) as u32));
            let _ = arena.next_number();
            let _ = arena.is_full();
            if let Ok(entry) = arena.entry(Number((noise.next() % 12) as u32)) {
                let _ = crate::core::passing(&entry, BASE, insn::x86::Mode::AMD_64);
            }
        }
    }
}
