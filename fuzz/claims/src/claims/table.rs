use std::collections::BTreeMap;

use stepping::x86::SLOT_SIZE;
use ubp::core::{Arena, Entry, Error, Layout, Number, State};

use super::generate;
use crate::generate::{Change, Session};

/// What the table is compared with: a map, and a list of free numbers.
struct Model {
    entries: BTreeMap<u32, Entry>,
    sites: BTreeMap<u64, u32>,
    /// The one freed last is taken first.
    free: Vec<u32>,
    used: u32,
    capacity: u32,
}

impl Model {
    fn next(&self) -> Option<u32> {
        self.free.last().copied().or((self.used < self.capacity).then_some(self.used))
    }

    fn insert(&mut self, entry: Entry) -> Option<u32> {
        let number = self.next()?;
        if self.free.pop().is_none() {
            self.used += 1;
        }
        self.sites.insert(entry.site, number);
        self.entries.insert(number, entry);
        Some(number)
    }

    fn release(&mut self, number: u32) {
        let Some(entry) = self.entries.remove(&number) else { return };
        if self.sites.get(&entry.site) == Some(&number) {
            self.sites.remove(&entry.site);
        }
        self.free.push(number);
    }
}

/// Whatever is inserted, retired and freed in whatever order, a table that nobody else writes to answers as a map does.
pub fn table(data: &[u8]) {
    let Some(session): Option<Session> = generate(data) else { return };
    let layout = Layout::new(u32::from(session.capacity % 40));
    let memory = vec![0; layout.size() as usize];
    let mut memory = memory.into_boxed_slice();
    let mut arena = Arena::create(&mut *memory, 0x10_0000, layout, 62, [0; 8]).expect("there is room");
    let capacity = layout.capacity();
    let mut model = Model { entries: BTreeMap::new(), sites: BTreeMap::new(), free: Vec::new(), used: 0, capacity };
    let site = |number: u8| u64::from(number % 64).wrapping_mul(session.stride | 1);
    for change in &session.changes {
        assert_eq!(arena.next_number().ok().map(|number| number.0), model.next());
        assert_eq!(arena.is_full(), Ok(model.next().is_none()));
        match *change {
            Change::Insert { site: which, bytes } => {
                let entry = Entry::new(site(which), &bytes);
                let given = arena.insert(&entry, &[bytes[0]; SLOT_SIZE]);
                assert_eq!(given, model.insert(entry).map(Number).ok_or(Error::Full));
            }
            Change::Release(number) => {
                let number = u32::from(number) % capacity;
                assert_eq!(arena.release(Number(number)), Ok(()));
                model.release(number);
            }
            Change::Retire(number) => {
                let number = u32::from(number) % capacity;
                if let Some(entry) = model.entries.get_mut(&number) {
                    entry.state = State::Retired;
                    assert_eq!(arena.set_entry(Number(number), entry), Ok(()));
                }
            }
            _ => {}
        }
        for which in 0..64 {
            let wanted = model.sites.get(&site(which)).map(|number| (Number(*number), model.entries[number]));
            assert_eq!(arena.find(site(which)), Ok(wanted));
        }
        assert_eq!(arena.count(), Ok(model.entries.len() as u32));
        assert_eq!(arena.high_water(), Ok(model.used));
    }
    for (&number, entry) in &model.entries {
        assert_eq!(arena.entry(Number(number)), Ok(*entry));
        let start = (layout.slots() + (SLOT_SIZE as u64) * u64::from(number)) as usize;
        assert_eq!(arena.memory()[start..start + SLOT_SIZE], [entry.bytes()[0]; SLOT_SIZE]);
    }
}
