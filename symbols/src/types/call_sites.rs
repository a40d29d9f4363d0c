//! What callers give: of a call, debug information may tell the values that it gave in registers (DWARF 5, 3.4).

use std::collections::HashSet;
use std::rc::Rc;

use gimli::{AttributeValue, DwAt, Operation};

use super::call_site::CallSite;
use super::location::Location;
use super::model::{TypeError, TypeId};
use super::store::Types;
use super::units::{Die, Result};

/// The largest number of entries of one function that are looked at.
const MOST: usize = 1 << 18;
/// The largest number of functions that are followed from one to the next, and of calls whose values are kept.
const MOST_FUNCTIONS: usize = 256;
const MOST_KEPT: usize = 4096;
/// The marks of a function all of whose calls, or all of whose jumps to other functions, are described.
const COMPLETE: [DwAt; 4] = [
    gimli::DW_AT_call_all_calls,
    gimli::DW_AT_call_all_tail_calls,
    gimli::DW_AT_GNU_all_call_sites,
    gimli::DW_AT_GNU_all_tail_call_sites,
];

impl Types {
    /// What the call before a return address in the file gave. `unit` is the place of its unit in `.debug_info`.
    pub(crate) fn call_site(&self, unit: usize, return_address: u64) -> Result<Option<Rc<CallSite>>> {
        if let Some(known) = self.calls.borrow().get(&return_address) {
            return Ok(known.clone());
        }
        let found = self.find_call_site(unit, return_address)?.map(Rc::new);
        let mut calls = self.calls.borrow_mut();
        if calls.len() >= MOST_KEPT {
            calls.clear();
        }
        calls.insert(return_address, found.clone());
        Ok(found)
    }

    fn find_call_site(&self, unit: usize, return_address: u64) -> Result<Option<CallSite>> {
        let one = self.units.holding(false, unit)?;
        let Some(at) = self.extents(&one)?.holding(return_address.wrapping_sub(1)) else { return Ok(None) };
        let function = self.units.die(TypeId { shared: false, offset: one.start.wrapping_add(at) })?;
        for site in call_sites(&function)? {
            let name = if is_new(&site)? { gimli::DW_AT_call_return_pc } else { gimli::DW_AT_low_pc };
            let Some(value) = site.value(name)? else { continue };
            let address = self.units.dwarf(site.of.shared)?.attr_address(&site.of.unit, value)?;
            if address == Some(return_address) {
                return given(&site).map(|given| Some(CallSite { given }));
            }
        }
        Ok(None)
    }

    /// Whether the function whose first instruction is at an address in the file may begin anew by a jump, without a call: the values at its entry
    /// are then not those that its caller gave. `unit` is the place of its unit in `.debug_info`, and `find` finds functions of other units by the
    /// linker's names: their units and addresses.
    pub(crate) fn may_begin_anew(
        &self,
        unit: usize,
        start: u64,
        find: &dyn Fn(&str) -> Vec<(usize, u64)>,
    ) -> Result<bool> {
        if let Some(known) = self.anew.borrow().get(&start) {
            return Ok(*known);
        }
        let found = self.find_anew(unit, start, find)?;
        self.anew.borrow_mut().insert(start, found);
        Ok(found)
    }

    fn find_anew(&self, unit: usize, start: u64, find: &dyn Fn(&str) -> Vec<(usize, u64)>) -> Result<bool> {
        let Some(first) = self.beginning(unit, start)? else { return Ok(true) };
        let mut known = HashSet::from([first.id()]);
        let mut pending = vec![first.clone()];
        while let Some(function) = pending.pop() {
            let is_complete = COMPLETE.iter().map(|name| function.is(*name)).collect::<Result<Vec<bool>>>()?;
            if !is_complete.contains(&true) {
                return Ok(true);
            }
            for site in call_sites(&function)? {
                if !(site.is(gimli::DW_AT_call_tail_call)? || site.is(gimli::DW_AT_GNU_tail_call)?) {
                    continue;
                }
                let name = if is_new(&site)? { gimli::DW_AT_call_origin } else { gimli::DW_AT_abstract_origin };
                // A jump by a pointer may lead anywhere.
                let Some(origin) = self.units.reference(&site, name)? else { return Ok(true) };
                for target in self.instances(&origin, &function, find)? {
                    if target.id() == first.id() || known.len() >= MOST_FUNCTIONS {
                        return Ok(true);
                    }
                    if known.insert(target.id()) {
                        pending.push(target);
                    }
                }
            }
        }
        Ok(false)
    }

    /// The function whose first instruction is at an address.
    fn beginning(&self, unit: usize, start: u64) -> Result<Option<Die>> {
        let one = self.units.holding(false, unit)?;
        let at = self.extents(&one)?.by_start.get(&start).copied();
        at.map(|at| self.units.die(TypeId { shared: false, offset: one.start.wrapping_add(at) })).transpose()
    }

    /// The functions with code that an entry stands for: itself, its copies in the unit of the function that names it, or those of its name in other
    /// units. Functions of other files have no debug information here, and are taken for ones that do not lead back.
    fn instances(&self, origin: &Die, from: &Die, find: &dyn Fn(&str) -> Vec<(usize, u64)>) -> Result<Vec<Die>> {
        if origin.value(gimli::DW_AT_low_pc)?.is_some() || origin.value(gimli::DW_AT_ranges)?.is_some() {
            return Ok(vec![origin.clone()]);
        }
        let mut all = Vec::new();
        for at in self.extents(&from.of)?.by_start.values() {
            let die = self.units.die(TypeId { shared: from.of.shared, offset: from.of.start.wrapping_add(*at) })?;
            let of = self.units.reference(&die, gimli::DW_AT_abstract_origin)?;
            let completes = self.units.reference(&die, gimli::DW_AT_specification)?;
            if [of, completes].into_iter().flatten().any(|other| other.id() == origin.id()) {
                all.push(die);
            }
        }
        if all.is_empty() {
            for (unit, address) in self.linkage_name(origin)?.map(|name| find(&name)).unwrap_or_default() {
                all.extend(self.beginning(unit, address)?);
            }
        }
        Ok(all)
    }

    /// The linker's name of a function, or where the entry has none, that in the source code.
    pub(super) fn linkage_name(&self, die: &Die) -> Result<Option<String>> {
        let Some(having) = self.units.having(die, gimli::DW_AT_linkage_name)? else { return self.units.name(die) };
        let Some(value) = having.value(gimli::DW_AT_linkage_name)? else { return Ok(None) };
        let text = self.units.dwarf(having.of.shared)?.attr_string(&having.of.unit, value)?;
        Ok(Some(String::from_utf8_lossy(&gimli::Reader::to_slice(&text)?).into_owned()))
    }
}

/// Whether a call is described as since the fifth version of DWARF, and not as by GNU's compilers before.
fn is_new(site: &Die) -> Result<bool> {
    Ok(site.tag()? == gimli::DW_TAG_call_site)
}

/// The calls of a function, those of its blocks and of the functions inlined in it too.
fn call_sites(function: &Die) -> Result<Vec<Die>> {
    let mut entries = function.of.unit.entries_at_offset(function.at)?;
    let (mut depth, mut all, mut left) = (0, Vec::new(), MOST);
    while let Some((change, entry)) = entries.next_dfs()? {
        depth += change;
        if depth <= 0 && entry.offset() != function.at {
            break;
        }
        left = left.checked_sub(1).ok_or(TypeError::TooLarge)?;
        if matches!(entry.tag(), gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site) {
            all.push(Die { of: Rc::clone(&function.of), at: entry.offset() });
        }
    }
    Ok(all)
}

/// The registers in which a call gives something, and the expressions for their values.
fn given(site: &Die) -> Result<Vec<(u16, Location)>> {
    let mut all = Vec::new();
    for parameter in site.children()? {
        let value = match parameter.tag()? {
            gimli::DW_TAG_call_site_parameter => parameter.value(gimli::DW_AT_call_value)?,
            gimli::DW_TAG_GNU_call_site_parameter => parameter.value(gimli::DW_AT_GNU_call_site_value)?,
            _ => continue,
        };
        let place = parameter.value(gimli::DW_AT_location)?;
        let (Some(AttributeValue::Exprloc(value)), Some(AttributeValue::Exprloc(place))) = (value, place) else {
            continue;
        };
        let encoding = parameter.of.unit.encoding();
        let mut operations = place.operations(encoding);
        if let (Some(Operation::Register { register }), None) = (operations.next()?, operations.next()?) {
            all.push((register.0, Location { expression: value, encoding, unit: Some(parameter.id()) }));
        }
    }
    Ok(all)
}
