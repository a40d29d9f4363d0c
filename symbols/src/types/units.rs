//! Entries of debug information, and the references between them.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, Reader as _, Unit, UnitHeader, UnitOffset, UnitSectionOffset,
};

use super::model::{MOST_PARTS, TypeError, TypeId};
use crate::reader::Reader;
use crate::text::utf8;

pub(super) type Result<T> = std::result::Result<T, TypeError>;
pub(super) type Entry<'a> = DebuggingInformationEntry<'a, 'a, Reader>;

/// The longest name that is kept, in bytes.
const LONGEST_NAME: usize = 256;
/// The largest number of references that are followed from one entry to the one that has an attribute.
const MOST_REFERENCES: usize = 8;

/// Headers of units by their offset in `.debug_info`.
type Headers = Vec<(usize, UnitHeader<Reader>)>;

/// The units of one file, and of the file that it shares with others. Each is read when it is first needed.
pub(super) struct Units {
    dwarf: Arc<Dwarf<Reader>>,
    headers: [OnceCell<Headers>; 2],
    units: RefCell<HashMap<(bool, usize), Rc<One>>>,
}

/// One unit.
pub(super) struct One {
    pub(super) shared: bool,
    pub(super) start: usize,
    pub(super) unit: Unit<Reader>,
}

/// One entry.
#[derive(Clone)]
pub(super) struct Die {
    pub(super) of: Rc<One>,
    pub(super) at: UnitOffset,
}

impl Die {
    pub(super) fn id(&self) -> TypeId {
        TypeId { shared: self.of.shared, offset: self.of.start.wrapping_add(self.at.0) }
    }

    pub(super) fn entry(&self) -> Result<Entry<'_>> {
        Ok(self.of.unit.entry(self.at)?)
    }

    /// The entries directly below this one.
    pub(super) fn children(&self) -> Result<Vec<Die>> {
        let mut tree = self.of.unit.entries_tree(Some(self.at))?;
        let mut below = tree.root()?.children();
        let mut all = Vec::new();
        while let Some(child) = below.next()? {
            all.push(Die { of: Rc::clone(&self.of), at: child.entry().offset() });
            if all.len() > MOST_PARTS {
                return Err(TypeError::TooLarge);
            }
        }
        Ok(all)
    }

    pub(super) fn tag(&self) -> Result<gimli::DwTag> {
        Ok(self.entry()?.tag())
    }

    pub(super) fn value(&self, name: gimli::DwAt) -> Result<Option<AttributeValue<Reader>>> {
        Ok(self.entry()?.attr_value(name)?)
    }

    pub(super) fn number(&self, name: gimli::DwAt) -> Result<Option<u64>> {
        Ok(self.value(name)?.and_then(|value| match value {
            AttributeValue::Sdata(number) => Some(number as u64),
            other => other.udata_value(),
        }))
    }

    /// A number that the form takes for a signed one where it says so.
    pub(super) fn signed(&self, name: gimli::DwAt) -> Result<Option<i64>> {
        Ok(self.value(name)?.and_then(|value| match value {
            AttributeValue::Udata(number) => Some(number as i64),
            other => other.sdata_value(),
        }))
    }

    /// The number of a file in the unit's table of lines.
    pub(super) fn file(&self, name: gimli::DwAt) -> Result<Option<u64>> {
        Ok(self.value(name)?.and_then(|value| match value {
            AttributeValue::FileIndex(number) => Some(number),
            other => other.udata_value(),
        }))
    }

    pub(super) fn is(&self, name: gimli::DwAt) -> Result<bool> {
        Ok(matches!(self.value(name)?, Some(AttributeValue::Flag(true))))
    }
}

impl Units {
    pub(super) fn new(dwarf: Arc<Dwarf<Reader>>) -> Units {
        Units { dwarf, headers: [OnceCell::new(), OnceCell::new()], units: RefCell::new(HashMap::new()) }
    }

    pub(super) fn dwarf(&self, shared: bool) -> Result<&Dwarf<Reader>> {
        if shared { self.dwarf.sup().ok_or(TypeError::Missing) } else { Ok(&self.dwarf) }
    }

    fn headers(&self, shared: bool) -> Result<&[(usize, UnitHeader<Reader>)]> {
        let dwarf = self.dwarf(shared)?;
        let read = || {
            let (mut all, mut headers) = (Vec::new(), dwarf.units());
            while let Ok(Some(header)) = headers.next() {
                if let UnitSectionOffset::DebugInfoOffset(offset) = header.offset() {
                    all.push((offset.0, header));
                }
            }
            all
        };
        Ok(self.headers[usize::from(shared)].get_or_init(read))
    }

    /// The places of all units in `.debug_info`.
    pub(super) fn starts(&self) -> Vec<usize> {
        self.headers(false).map(|headers| headers.iter().map(|(start, _)| *start).collect()).unwrap_or_default()
    }

    /// Gives back the memory of a unit. It is read again when it is needed.
    pub(super) fn forget(&self, one: &One) {
        self.units.borrow_mut().remove(&(one.shared, one.start));
    }

    /// The unit that holds an offset in `.debug_info`.
    pub(super) fn holding(&self, shared: bool, offset: usize) -> Result<Rc<One>> {
        let headers = self.headers(shared)?;
        let before = headers.partition_point(|(start, _)| *start <= offset).checked_sub(1);
        let (start, header) = before.and_then(|place| headers.get(place)).ok_or(TypeError::Missing)?;
        if let Some(known) = self.units.borrow().get(&(shared, *start)) {
            return Ok(Rc::clone(known));
        }
        let unit = self.dwarf(shared)?.unit(header.clone())?;
        let one = Rc::new(One { shared, start: *start, unit });
        self.units.borrow_mut().insert((shared, *start), Rc::clone(&one));
        Ok(one)
    }

    pub(super) fn die(&self, id: TypeId) -> Result<Die> {
        let of = self.holding(id.shared, id.offset)?;
        let at = UnitOffset(id.offset.wrapping_sub(of.start));
        Ok(Die { of, at })
    }

    /// The entry to which an attribute refers.
    pub(super) fn reference(&self, from: &Die, name: gimli::DwAt) -> Result<Option<Die>> {
        let of = |shared, offset: usize| self.die(TypeId { shared, offset }).map(Some);
        match from.value(name)? {
            Some(AttributeValue::UnitRef(at)) => Ok(Some(Die { of: Rc::clone(&from.of), at })),
            Some(AttributeValue::DebugInfoRef(offset)) => of(from.of.shared, offset.0),
            Some(AttributeValue::DebugInfoRefSup(offset)) => of(true, offset.0),
            _ => Ok(None),
        }
    }

    /// The entry that has an attribute: this one, or the one that it completes or is a copy of.
    pub(super) fn having(&self, die: &Die, name: gimli::DwAt) -> Result<Option<Die>> {
        let mut at = die.clone();
        for _ in 0..MOST_REFERENCES {
            if at.value(name)?.is_some() {
                return Ok(Some(at));
            }
            let next = match self.reference(&at, gimli::DW_AT_abstract_origin)? {
                Some(origin) => Some(origin),
                None => self.reference(&at, gimli::DW_AT_specification)?,
            };
            match next {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The name of an entry, or of the one that it completes or is a copy of.
    pub(super) fn name(&self, die: &Die) -> Result<Option<String>> {
        let Some(having) = self.having(die, gimli::DW_AT_name)? else { return Ok(None) };
        let Some(value) = having.value(gimli::DW_AT_name)? else { return Ok(None) };
        let text = self.dwarf(having.of.shared)?.attr_string(&having.of.unit, value)?;
        let bytes = text.to_slice()?;
        Ok(Some(utf8(bytes.get(..LONGEST_NAME).unwrap_or(&bytes)).into_owned()))
    }
}
