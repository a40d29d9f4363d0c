//! The blocks and inlined functions around an address in a function.

use std::collections::HashSet;
use std::rc::Rc;

use super::model::{TypeError, TypeId};
use super::store::Types;
use super::units::{Die, Entry, Result};

/// The deepest nesting of blocks and inlined functions.
const DEEPEST: usize = 128;
/// The largest number of entries, and of ranges, that one search reads.
const MOST: usize = 1 << 18;

/// A function, an inlined function or a block.
pub(super) struct Block {
    /// The number of inlined functions around it, itself included.
    pub(super) level: usize,
    /// Its parameters and variables, in the order of the source code.
    pub(super) entries: Vec<Die>,
}

/// A function or an inlined function.
#[derive(Default)]
pub(super) struct Level {
    /// Its name, if it is inlined.
    pub(super) name: Option<Rc<str>>,
    /// The file and the line of the call for which it stands, if it is inlined.
    pub(super) call: Option<(u64, u64)>,
}

/// What contains an address, the outermost first.
#[derive(Default)]
pub(super) struct Around {
    pub(super) blocks: Vec<Block>,
    pub(super) levels: Vec<Level>,
}

/// What one search may still read.
struct Budget(usize);

impl Budget {
    fn take(&mut self) -> Result<()> {
        self.0 = self.0.checked_sub(1).ok_or(TypeError::TooLarge)?;
        Ok(())
    }
}

/// Whether a block contains an address.
#[derive(PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    /// The entry has no addresses.
    Unsaid,
}

impl Types {
    /// What of a function contains an address in the file.
    pub(super) fn around(&self, function: &Die, address: u64) -> Result<Around> {
        let mut budget = Budget(MOST);
        let mut around = Around { blocks: Vec::new(), levels: vec![Level::default()] };
        let mut pending = vec![(function.clone(), 0)];
        while let Some((die, level)) = pending.pop() {
            if around.blocks.len() == DEEPEST {
                return Err(TypeError::TooDeep);
            }
            let (mut entries, mut inner) = (Vec::new(), None);
            let mut tree = die.of.unit.entries_tree(Some(die.at))?;
            let mut below = tree.root()?.children();
            while let Some(node) = below.next()? {
                budget.take()?;
                let entry = node.entry();
                let child = || Die { of: Rc::clone(&die.of), at: entry.offset() };
                match entry.tag() {
                    gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable => entries.push(child()),
                    gimli::DW_TAG_lexical_block | gimli::DW_TAG_try_block | gimli::DW_TAG_catch_block => {
                        match self.holds(&die, entry, address, &mut budget)? {
                            Holds::Yes if inner.is_none() => inner = Some((child(), level)),
                            // What such a block has belongs to the one around it.
                            Holds::Unsaid => pending.push((child(), level)),
                            _ => {}
                        }
                    }
                    gimli::DW_TAG_inlined_subroutine
                        if inner.is_none() && self.holds(&die, entry, address, &mut budget)? == Holds::Yes =>
                    {
                        inner = Some((child(), around.levels.len()));
                    }
                    _ => {}
                }
            }
            self.inherit(&die, &mut entries, &mut budget)?;
            around.blocks.push(Block { level, entries });
            if let Some((die, level)) = inner {
                if level == around.levels.len() {
                    around.levels.push(self.level(&die)?);
                }
                pending.push((die, level));
            }
        }
        Ok(around)
    }

    fn holds(&self, of: &Die, entry: &Entry<'_>, address: u64, budget: &mut Budget) -> Result<Holds> {
        let has = |name| -> Result<bool> { Ok(entry.attr_value(name)?.is_some()) };
        if !has(gimli::DW_AT_low_pc)? && !has(gimli::DW_AT_ranges)? {
            return Ok(Holds::Unsaid);
        }
        let mut ranges = self.units.dwarf(of.of.shared)?.die_ranges(&of.of.unit, entry)?;
        while let Some(range) = ranges.next()? {
            budget.take()?;
            if range.begin <= address && address < range.end {
                return Ok(Holds::Yes);
            }
        }
        Ok(Holds::No)
    }

    /// Adds what the function or block has of which this one is a copy, and which the copy does not name: static variables, and what the
    /// compiler left out.
    fn inherit(&self, die: &Die, entries: &mut Vec<Die>, budget: &mut Budget) -> Result<()> {
        let Some(origin) = self.units.reference(die, gimli::DW_AT_abstract_origin)? else { return Ok(()) };
        let mut named: HashSet<TypeId> = HashSet::new();
        for entry in entries.iter() {
            named.extend(self.units.reference(entry, gimli::DW_AT_abstract_origin)?.map(|origin| origin.id()));
        }
        let mut tree = origin.of.unit.entries_tree(Some(origin.at))?;
        let mut below = tree.root()?.children();
        while let Some(node) = below.next()? {
            budget.take()?;
            let tag = node.entry().tag();
            let child = Die { of: Rc::clone(&origin.of), at: node.entry().offset() };
            let is_variable = matches!(tag, gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable);
            if is_variable && !named.contains(&child.id()) {
                entries.push(child);
            }
        }
        Ok(())
    }

    fn level(&self, inlined: &Die) -> Result<Level> {
        let file = inlined.file(gimli::DW_AT_call_file)?;
        let call = file.zip(inlined.number(gimli::DW_AT_call_line)?);
        Ok(Level { name: Some(self.units.name(inlined)?.unwrap_or_default().into()), call })
    }
}
