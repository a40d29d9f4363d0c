//! The copies of functions that the compiler put into other functions.

use std::collections::HashMap;
use std::rc::Rc;

use super::model::TypeId;
use super::store::Types;
use super::units::{Die, One, Result};

/// The largest number of copies that are told.
const MOST: usize = 1 << 16;

/// A copy of a function in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inlined {
    /// The address of its first instruction in the file.
    pub address: u64,
    /// The linker's name of the function, or its name in the source code where the debug information has no other.
    pub name: Rc<str>,
}

impl Types {
    /// The copies of the functions whose names are wanted: linker's names, or names in the source code where the debug information has no others.
    /// All of the debug information is read for it. A malformed unit hides its own copies alone.
    pub fn inlined(&self, is_wanted: &dyn Fn(&str) -> bool) -> Vec<Inlined> {
        let mut known: HashMap<TypeId, Option<Rc<str>>> = HashMap::new();
        let mut found = Vec::new();
        for start in self.units.starts() {
            let Ok(one) = self.units.holding(false, start) else { continue };
            let _ = self.inlined_in(&one, is_wanted, &mut known, &mut found);
            self.units.forget(&one);
        }
        found.sort_by_key(|copy| copy.address);
        found.dedup();
        found
    }

    fn inlined_in(
        &self,
        one: &Rc<One>,
        is_wanted: &dyn Fn(&str) -> bool,
        known: &mut HashMap<TypeId, Option<Rc<str>>>,
        found: &mut Vec<Inlined>,
    ) -> Result<()> {
        let mut entries = one.unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_inlined_subroutine || found.len() >= MOST {
                continue;
            }
            let die = Die { of: Rc::clone(one), at: entry.offset() };
            let Some(origin) = self.units.reference(&die, gimli::DW_AT_abstract_origin)? else { continue };
            let name = match known.get(&origin.id()) {
                Some(name) => name.clone(),
                None => {
                    let name = self.linkage_name(&origin)?.filter(|name| is_wanted(name)).map(Rc::from);
                    known.insert(origin.id(), name.clone());
                    name
                }
            };
            let Some(name) = name else { continue };
            let dwarf = self.units.dwarf(false)?;
            let entry_point = match entry.attr_value(gimli::DW_AT_entry_pc)? {
                Some(value) => dwarf.attr_address(&one.unit, value)?,
                None => None,
            };
            let first = dwarf.die_ranges(&one.unit, entry)?.next()?.map(|range| range.begin);
            found.extend(entry_point.or(first).map(|address| Inlined { address, name }));
        }
        Ok(())
    }
}
