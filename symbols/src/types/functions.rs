//! Functions, their parameters, and where those lie at the first instruction.

use std::rc::Rc;

use gimli::{AttributeValue, Encoding, Expression, Operation};

use super::extents::Extents;
use super::function::{FRAME, Function, Known, Linkage, Parameter};
use super::location::{Location, is_cfa, is_of_caller};
use super::model::{Language, TypeError, TypeId};
use super::placed::Placed;
use super::resolve::language;
use super::store::Types;
use super::units::{Die, One, Result};
use crate::reader::Reader;

/// The largest number of ranges of one function, and of one unit.
const MOST_RANGES: [usize; 2] = [256, 1 << 20];
/// The largest number of parameters that are told.
const MOST: usize = 64;

/// What an entry says of the place of a parameter.
enum Said {
    At(Location),
    Constant(u64),
    /// In the frame, which the function makes after its first instruction, or nowhere.
    Nothing,
}

impl Types {
    /// The function whose first instruction is at an address in the file. `unit` is the place of its unit in `.debug_info`.
    pub(crate) fn function(&self, unit: usize, address: u64, linkage: Linkage) -> Result<Option<Rc<Function>>> {
        if let Some(known) = self.functions.borrow().get(&address) {
            return known.clone();
        }
        let found = self.find(unit, address, linkage);
        self.functions.borrow_mut().insert(address, found.clone());
        found
    }

    fn find(&self, unit: usize, address: u64, linkage: Linkage) -> Result<Option<Rc<Function>>> {
        let one = self.units.holding(false, unit)?;
        let starts = self.extents(&one)?;
        let Some(&at) = starts.by_start.get(&address) else { return Ok(None) };
        let die = self.units.die(TypeId { shared: false, offset: one.start.wrapping_add(at) })?;
        let Some(language) = language(&die) else { return Ok(None) };
        self.read(&die, address, language, linkage).map(|function| Some(Rc::new(function)))
    }

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
            let [of_function, of_unit] = MOST_RANGES;
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

    fn read(&self, die: &Die, address: u64, language: Language, linkage: Linkage) -> Result<Function> {
        let convention = die.value(gimli::DW_AT_calling_convention)?;
        let is_own = linkage.copy || matches!(convention, Some(AttributeValue::CallingConvention(gimli::DW_CC_nocall)));
        let frame = self.frame(die, address)?;
        let (mut parameters, mut results, mut all_said) = (Vec::new(), Vec::new(), Vec::new());
        for child in die.children()? {
            if child.tag()? != gimli::DW_TAG_formal_parameter {
                continue;
            }
            let missing = || TypeError::Missing;
            let kind = self.type_of(&child).and_then(|kind| kind.ok_or_else(missing));
            if language == Language::Go && child.is(gimli::DW_AT_variable_parameter)? {
                results.push(kind);
                continue;
            }
            let name = self.units.name(&child)?.unwrap_or_default();
            all_said.push(self.said(&child, address, frame)?);
            parameters.push(Parameter { name, kind, known: Known::Gone });
            if parameters.len() == MOST {
                break;
            }
        }
        // Callers leave out what the function does not use, if the compiler knows all of them.
        let is_optimized = all_said.iter().any(|said| matches!(said, Said::At(_)));
        for (parameter, said) in parameters.iter_mut().zip(all_said) {
            parameter.known = match said {
                Said::At(location) if language != Language::Go => Known::Location(location),
                Said::Constant(value) => Known::Constant(value),
                _ if is_own || is_optimized && !linkage.global => Known::Gone,
                _ => Known::Convention,
            };
        }
        if language != Language::Go {
            results.extend(self.type_of(die).transpose());
        }
        Ok(Function { name: self.units.name(die)?.unwrap_or_default(), language, parameters, results, is_own })
    }

    /// Whether the frame of a function begins where that of its caller ends.
    fn frame(&self, die: &Die, address: u64) -> Result<bool> {
        match self.placed(die, gimli::DW_AT_frame_base, address)? {
            Placed::Everywhere(base) => is_cfa(&base),
            _ => Ok(false),
        }
    }

    /// `frame`: as [`Types::frame`] says.
    fn said(&self, die: &Die, address: u64, frame: bool) -> Result<Said> {
        Ok(match self.placed(die, gimli::DW_AT_location, address)? {
            Placed::Here(location) => Said::At(location),
            Placed::Everywhere(location)
                if is_in_registers(&location.expression, location.encoding)? || frame && is_of_caller(&location)? =>
            {
                Said::At(location)
            }
            Placed::Everywhere(_) | Placed::Elsewhere => Said::Nothing,
            Placed::Unsaid => die.number(gimli::DW_AT_const_value)?.map_or(Said::Nothing, Said::Constant),
        })
    }
}

/// Whether an expression names registers that hold the value, or a pointer to it, throughout the function.
fn is_in_registers(expression: &Expression<Reader>, encoding: Encoding) -> Result<bool> {
    let mut operations = expression.clone().operations(encoding);
    let mut any = false;
    while let Some(operation) = operations.next()? {
        match operation {
            Operation::Register { .. } => any = true,
            Operation::RegisterOffset { register, .. } if !FRAME.contains(&register.0) => any = true,
            Operation::Piece { .. } => {}
            _ => return Ok(false),
        }
    }
    Ok(any)
}
