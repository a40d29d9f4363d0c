//! The addresses of the functions of a unit.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::store::Types;
use super::units::{One, Result};

/// The largest number of ranges of one function, and of one unit.
const MOST: [usize; 2] = [256, 1 << 20];

/// The functions of a unit by their addresses in the file. A function is the place of its entry in the unit.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// By the first address.
    pub(super) by_start: HashMap<u64, usize>,
    /// All ranges, in the order of the entries.
    ranges: Vec<(Range<u64>, usize)>,
}

impl Extents {
    /// The innermost function that contains an address.
    pub(super) fn holding(&self, address: u64) -> Option<usize> {
        let holding = self.ranges.iter().filter(|(range, _)| range.contains(&address));
        holding.min_by_key(|(range, _)| range.end - range.start).map(|(_, at)| *at)
    }
}

impl Types {
    /// The functions of a unit. They are read once.
    pub(super) fn extents(&self, one: &Rc<One>) -> Result<Rc<Extents>> {
        if let Some(known) = self.extents.borrow().get(&one.start) {
            return Ok(Rc::clone(known));
        }
        let extents = Rc::new(self.read_extents(one)?);
        self.extents.borrow_mut().insert(one.start, Rc::clone(&extents));
        Ok(extents)
    }

    fn read_extents(&self, one: &One) -> Result<Extents> {
        let mut extents = Extents::default();
        let dwarf = self.units.dwarf(one.shared)?;
        let mut entries = one.unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let (mut ranges, at) = (dwarf.die_ranges(&one.unit, entry)?, entry.offset().0);
            let [of_function, of_unit] = MOST;
            let most = of_function.min(of_unit.saturating_sub(extents.ranges.len())).max(1);
            for number in 0..most {
                let Some(range) = ranges.next()? else { break };
                // The first range of a function in several parts is that of its entry.
                if number == 0 {
                    extents.by_start.entry(range.begin).or_insert(at);
                }
                extents.ranges.push((range.begin..range.end, at));
            }
        }
        Ok(extents)
    }
}
