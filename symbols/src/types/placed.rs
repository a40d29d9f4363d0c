//! Where something lies at an address, as an entry says it.

use gimli::{AttributeValue, Expression, UnitOffset, ValueType};

use super::location::Location;
use super::model::TypeId;
use super::store::Types;
use super::units::{Die, Result};

/// What an attribute says of the place at an address.
pub(super) enum Placed {
    /// One expression holds for all addresses.
    Everywhere(Location),
    /// An expression holds for some addresses, and for this one.
    Here(Location),
    /// No expression holds for this address.
    Elsewhere,
    /// The entry does not have the attribute.
    Unsaid,
}

impl Types {
    /// What an attribute of an entry says of the place at an address in the file.
    pub(super) fn placed(&self, die: &Die, name: gimli::DwAt, address: u64) -> Result<Placed> {
        let encoding = die.of.unit.encoding();
        let location = |expression| Location { expression, encoding, unit: Some(die.id()) };
        let value = match die.value(name)? {
            None => return Ok(Placed::Unsaid),
            Some(AttributeValue::Exprloc(expression)) => return Ok(Placed::Everywhere(location(expression))),
            // Before its fourth version DWARF had no other form for an expression.
            Some(AttributeValue::Block(bytes)) => return Ok(Placed::Everywhere(location(Expression(bytes)))),
            Some(value) => value,
        };
        let dwarf = self.units.dwarf(die.of.shared)?;
        let Some(mut list) = dwarf.attr_locations(&die.of.unit, value)? else { return Ok(Placed::Elsewhere) };
        while let Some(entry) = list.next()? {
            if entry.range.begin <= address && address < entry.range.end {
                return Ok(Placed::Here(location(entry.data)));
            }
        }
        Ok(Placed::Elsewhere)
    }

    /// The type of a number in an expression of the unit that has `entry`.
    pub(crate) fn number_type(&self, entry: TypeId, base: UnitOffset) -> Option<ValueType> {
        let die = Die { at: base, ..self.units.die(entry).ok()? };
        ValueType::from_entry(&die.entry().ok()?).ok()?
    }

    /// An address of the table of addresses of the unit that has `entry`.
    pub(crate) fn indexed(&self, entry: TypeId, index: gimli::DebugAddrIndex<usize>) -> Option<u64> {
        let die = self.units.die(entry).ok()?;
        self.units.dwarf(die.of.shared).ok()?.address(&die.of.unit, index).ok()
    }
}
