use std::cell::Cell;

use insn::x86::Mode;
use stepping::x86::SLOT_SIZE;
use ubp::core::{Arena, Entry, Inaccessible, Layout, Memory, Number, passing};

use super::generate;
use crate::generate::{Change, Session};

/// An arena's memory, with accesses counted.
struct Counted {
    bytes: Box<[u8]>,
    accesses: Cell<u64>,
}

impl Memory for Counted {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        self.accesses.set(self.accesses.get() + 1);
        let read = (*self.bytes).read(offset, buffer);
        assert_eq!(read, Ok(()), "an access outside of the arena");
        read
    }
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        self.accesses.set(self.accesses.get() + 1);
        let written = (*self.bytes).write(offset, bytes);
        assert_eq!(written, Ok(()), "an access outside of the arena");
        written
    }
}

/// Whatever an arena holds and whoever writes to it meanwhile, every operation ends after few accesses, all of them inside.
pub fn arena(data: &[u8]) {
    let Some(session): Option<Session> = generate(data) else { return };
    let layout = Layout::new(u32::from(session.capacity % 16));
    let mut bytes = vec![0; layout.size() as usize].into_boxed_slice();
    let content = session.content.iter().chain(std::iter::repeat(&0));
    for (to, from) in bytes.iter_mut().zip(content) {
        *to = *from;
    }
    let memory = Counted { bytes, accesses: Cell::new(0) };
    let mut arena = Arena::create(memory, 0x10_0000, layout, 62, [0; 8]).expect("there is room");
    // A chain is followed twice at most, two reads a word.
    let most = 8 * u64::from(layout.index_length()) + 32;
    for change in &session.changes {
        arena.memory().accesses.set(0);
        // Numbers that do not exist are among what callers may read from somewhere.
        match *change {
            Change::Insert { site, bytes } => {
                let entry = Entry::new(u64::from(site % 32).wrapping_mul(session.stride), &bytes);
                if let Ok(number) = arena.insert(&entry, &[0xcc; SLOT_SIZE]) {
                    assert!(number.0 < layout.capacity());
                }
            }
            Change::Release(number) => drop(arena.release(Number(number.into()))),
            Change::Retire(number) => {
                if let Ok(entry) = arena.entry(Number(number.into())) {
                    assert!(entry.bytes().len() <= 15);
                    for mode in [Mode::AMD_64, Mode::INTEL_32] {
                        let _ = passing(&entry, arena.slot(Number(number.into())), mode);
                    }
                }
            }
            Change::Find(site) => {
                if let Ok(Some((number, entry))) = arena.find(u64::from(site % 32).wrapping_mul(session.stride)) {
                    assert!(number.0 < layout.capacity());
                    let _ = passing(&entry, arena.slot(number), Mode::INTEL_64);
                }
            }
            Change::Tamper { offset, value } => {
                let offset = u64::from(offset) % (layout.size() - 3);
                let _ = arena.memory_mut().write(offset, &value.to_le_bytes());
            }
            Change::Confuse { word, value } => {
                let words = layout.slots() / 4;
                let _ = arena.memory_mut().write(4 * (u64::from(word) % words), &u32::from(value).to_le_bytes());
            }
        }
        let _ = (arena.next_number(), arena.is_full(), arena.count());
        assert!(arena.high_water().is_ok_and(|number| number <= layout.capacity()));
        let accesses = arena.memory().accesses.get();
        assert!(accesses <= most, "{accesses} accesses of {} words for {change:?}", layout.index_length());
    }
}
