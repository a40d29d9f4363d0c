//! Functions, their parameters, and where those lie at the first instruction.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::{AttributeValue, Encoding, Expression, Operation};

use super::function::{Function, Known, Linkage, Location, Parameter};
use super::model::{Language, TypeError, TypeId};
use super::resolve::language;
use super::store::Types;
use super::units::{Die, One, Result};
use crate::reader::Reader;

/// The largest number of parameters that are told.
const MOST: usize = 64;
/// The numbers of the stack pointer and the frame pointer on x86-64 and arm64.
const FRAME: [u16; 4] = [6, 7, 29, 31];

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
        let known = self.starts.borrow().get(&one.start).cloned();
        let starts = match known {
            Some(starts) => starts,
            None => {
                let starts = Rc::new(self.starts_of(&one)?);
                self.starts.borrow_mut().insert(one.start, Rc::clone(&starts));
                starts
            }
        };
        let Some(&at) = starts.get(&address) else { return Ok(None) };
        let die = self.units.die(TypeId { shared: false, offset: one.start.wrapping_add(at) })?;
        let Some(language) = language(&die) else { return Ok(None) };
        self.read(&die, address, language, linkage).map(|function| Some(Rc::new(function)))
    }

    /// The functions of a unit by their first address.
    fn starts_of(&self, one: &Rc<One>) -> Result<HashMap<u64, usize>> {
        let mut starts = HashMap::new();
        let dwarf = self.units.dwarf(false)?;
        let mut entries = one.unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            // The first range of a function in several parts is that of its entry.
            if let Some(range) = dwarf.die_ranges(&one.unit, entry)?.next()? {
                starts.entry(range.begin).or_insert(entry.offset().0);
            }
        }
        Ok(starts)
    }

    fn read(&self, die: &Die, address: u64, language: Language, linkage: Linkage) -> Result<Function> {
        let convention = die.value(gimli::DW_AT_calling_convention)?;
        let is_own = linkage.copy || convention == Some(AttributeValue::CallingConvention(gimli::DW_CC_nocall));
        let frame = self.frame(die)?;
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
    fn frame(&self, die: &Die) -> Result<bool> {
        let encoding = die.of.unit.encoding();
        let Some(AttributeValue::Exprloc(base)) = die.value(gimli::DW_AT_frame_base)? else { return Ok(false) };
        let mut operations = base.operations(encoding);
        Ok(matches!((operations.next()?, operations.next()?), (Some(Operation::CallFrameCFA), None)))
    }

    /// `frame`: as [`Types::frame`] says.
    fn said(&self, die: &Die, address: u64, frame: bool) -> Result<Said> {
        let encoding = die.of.unit.encoding();
        let location = match die.value(gimli::DW_AT_location)? {
            None => {
                let constant = die.number(gimli::DW_AT_const_value)?;
                return Ok(constant.map_or(Said::Nothing, Said::Constant));
            }
            Some(AttributeValue::Exprloc(expression))
                if is_in_registers(&expression, encoding)? || frame && is_of_caller(&expression, encoding)? =>
            {
                return Ok(Said::At(Location { expression, encoding }));
            }
            Some(AttributeValue::Exprloc(_)) => return Ok(Said::Nothing),
            Some(location) => location,
        };
        let dwarf = self.units.dwarf(die.of.shared)?;
        let Some(mut list) = dwarf.attr_locations(&die.of.unit, location)? else { return Ok(Said::Nothing) };
        while let Some(entry) = list.next()? {
            if entry.range.begin <= address && address < entry.range.end {
                return Ok(Said::At(Location { expression: entry.data, encoding }));
            }
        }
        Ok(Said::Nothing)
    }
}

/// Whether an expression names a place in the frame of the caller, where arguments on the stack lie.
fn is_of_caller(expression: &Expression<Reader>, encoding: Encoding) -> Result<bool> {
    let mut operations = expression.clone().operations(encoding);
    Ok(matches!((operations.next()?, operations.next()?), (Some(Operation::FrameOffset { offset: 0.. }), None)))
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
