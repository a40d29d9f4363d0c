//! Finds what is in scope at an address.

use std::ops::Range;
use std::rc::Rc;

use gimli::{AttributeValue, Operation, Reader as _};

use super::blocks::Level;
use super::function::FRAME;
use super::location::{Location, is_cfa, is_of_caller};
use super::model::{Language, MOST_PARTS, TypeError, TypeId};
use super::placed::Placed;
use super::resolve::language;
use super::rows::Rows;
use super::scope::{Lies, Scope, Variable};
use super::store::{Scoped, Types};
use super::units::{Die, Result};

/// The largest number of ranges of one function that are looked at.
const MOST_RANGES: usize = 64;
/// The largest number of addresses whose scopes are kept.
const MOST_KEPT: usize = 4096;

/// A point in a function.
struct Point {
    address: u64,
    /// Whether the instructions that set up the frame are not behind the address yet.
    in_prologue: bool,
    /// Whether the frame begins where that of the caller ends.
    at_cfa: bool,
    rows: Rows,
    /// The function's first range of addresses.
    entry: Range<u64>,
    /// The file and the line in the function, and in each function that is inlined here.
    lines: Vec<Option<(u64, u64)>>,
}

impl Point {
    /// Whether no function is inlined at the address in the one of this number.
    fn is_innermost(&self, level: usize) -> bool {
        level + 1 == self.lines.len()
    }

    /// Whether the address is in the declaration at a line and a column.
    fn declares(&self, line: (u64, u64), column: Option<u64>) -> bool {
        self.rows.declares(line, column, self.address, &self.entry)
    }
}

/// When a variable exists, as its line says.
#[derive(PartialEq, Eq)]
enum When {
    /// Its declaration is behind the address.
    Later,
    /// Its declaration is at the address.
    Now,
    Before,
}

impl Types {
    /// What is in scope at an address in the file. `unit` is the place of its unit in `.debug_info`. `None`: in no function.
    pub(crate) fn scope(&self, unit: usize, address: u64) -> Scoped {
        if let Some(known) = self.scopes.borrow().get(&address) {
            return known.clone();
        }
        let found = self.find_scope(unit, address);
        let mut scopes = self.scopes.borrow_mut();
        if scopes.len() >= MOST_KEPT {
            scopes.clear();
        }
        scopes.insert(address, found.clone());
        found
    }

    fn find_scope(&self, unit: usize, address: u64) -> Scoped {
        let one = self.units.holding(false, unit)?;
        let Some(at) = self.extents(&one)?.holding(address) else { return Ok(None) };
        let function = self.units.die(TypeId { shared: false, offset: one.start.wrapping_add(at) })?;
        let Some(language) = language(&function) else { return Ok(None) };
        let ranges = self.ranges(&function)?;
        let Some(first) = ranges.first() else { return Ok(None) };
        let around = self.around(&function, address)?;
        let rows = Rows::read(&one, &ranges);
        let calls = around.levels.iter().skip(1).map(|level| level.call);
        let lines = calls.chain([rows.at(address)]).collect();
        let frame_base = match self.units.having(&function, gimli::DW_AT_frame_base)? {
            None => None,
            Some(having) => match self.placed(&having, gimli::DW_AT_frame_base, address)? {
                Placed::Everywhere(location) | Placed::Here(location) => Some(location),
                Placed::Elsewhere | Placed::Unsaid => None,
            },
        };
        let at_cfa = match &frame_base {
            Some(base) => is_cfa(base)?,
            None => false,
        };
        let body = rows.body(first).max(first.start.saturating_add(1));
        let in_prologue = first.contains(&address) && address < body;
        let point = Point { address, in_prologue, at_cfa, rows, entry: first.clone(), lines };
        let mut found: Vec<(usize, u64, Variable)> = Vec::new();
        for (depth, block) in around.blocks.iter().enumerate() {
            let level = around.levels.get(block.level).ok_or(TypeError::Missing)?;
            for entry in &block.entries {
                let Some(variable) = self.variable(entry, language, (block.level, level), &point)? else { continue };
                // A name of the same block is kept: it is another copy of the variable.
                match found.iter().position(|(_, _, known)| known.name == variable.name) {
                    Some(outer) if found.get(outer).is_some_and(|(of, ..)| *of < depth) => drop(found.remove(outer)),
                    Some(_) => continue,
                    None => {}
                }
                if found.len() == MOST_PARTS {
                    return Err(TypeError::TooLarge);
                }
                let having = self.units.having(entry, gimli::DW_AT_decl_line)?;
                let line = having.map(|having| having.number(gimli::DW_AT_decl_line)).transpose()?.flatten();
                found.push((depth, line.unwrap_or(0), variable));
            }
        }
        // Go lists variables by their names, and copies of functions list static ones last.
        found.sort_by_key(|(depth, line, variable)| match variable.is_parameter {
            true => (false, 0, 0),
            false => (true, *depth, *line),
        });
        let variables = found.into_iter().map(|(_, _, variable)| variable).collect();
        Ok(Some(Rc::new(Scope { variables, start: first.start, frame_base })))
    }

    fn ranges(&self, function: &Die) -> Result<Vec<Range<u64>>> {
        let mut ranges = self.units.dwarf(function.of.shared)?.die_ranges(&function.of.unit, &function.entry()?)?;
        let mut all = Vec::new();
        while let Some(range) = ranges.next()? {
            if all.len() == MOST_RANGES {
                break;
            }
            all.push(range.begin..range.end);
        }
        Ok(all)
    }

    /// The variable of an entry. `None`: it has no name, is only declared, or is not in scope yet.
    fn variable(
        &self,
        entry: &Die,
        language: Language,
        (number, level): (usize, &Level),
        point: &Point,
    ) -> Result<Option<Variable>> {
        if entry.is(gimli::DW_AT_declaration)? {
            return Ok(None);
        }
        let Some(name) = self.units.name(entry)?.filter(|name| !name.is_empty()) else { return Ok(None) };
        let is_result = language == Language::Go && entry.is(gimli::DW_AT_variable_parameter)?;
        let is_parameter = entry.tag()? == gimli::DW_TAG_formal_parameter && !is_result;
        let lies = match self.lies(entry, point)? {
            (Lies::At(location), true) => {
                let is_argument = is_parameter || is_result;
                let when = if is_argument { When::Before } else { self.when(entry, number, point)? };
                let is_given = is_parameter && point.at_cfa && is_of_caller(&location)?;
                match when {
                    When::Later => return Ok(None),
                    When::Now => Lies::Coming,
                    When::Before if point.in_prologue && number == 0 && !is_given => Lies::Coming,
                    When::Before => Lies::At(location),
                }
            }
            (lies, _) => lies,
        };
        let kind = self.type_of(entry).and_then(|kind| kind.ok_or(TypeError::Missing));
        Ok(Some(Variable { name, kind, is_parameter, inlined: level.name.clone(), lies }))
    }

    /// Where a variable lies, and whether that is a place in the frame which it has in the whole function.
    fn lies(&self, entry: &Die, point: &Point) -> Result<(Lies, bool)> {
        if let Some(having) = self.units.having(entry, gimli::DW_AT_location)? {
            return Ok(match self.placed(&having, gimli::DW_AT_location, point.address)? {
                Placed::Everywhere(location) if location.expression.0.is_empty() => (Lies::Gone, false),
                Placed::Here(location) if location.expression.0.is_empty() => (Lies::Gone, false),
                Placed::Everywhere(location) => {
                    let is_in_frame = is_in_frame(&location)?;
                    (Lies::At(location), is_in_frame)
                }
                Placed::Here(location) => (Lies::At(location), false),
                Placed::Elsewhere | Placed::Unsaid => (Lies::Gone, false),
            });
        }
        let Some(having) = self.units.having(entry, gimli::DW_AT_const_value)? else { return Ok((Lies::Gone, false)) };
        let (bytes, is_negative) = match having.value(gimli::DW_AT_const_value)? {
            Some(AttributeValue::Block(bytes)) => (bytes.to_slice()?.into_owned(), false),
            Some(AttributeValue::Sdata(number)) => (number.to_le_bytes().to_vec(), number < 0),
            Some(value) => match value.udata_value() {
                Some(number) => (number.to_le_bytes().to_vec(), false),
                None => {
                    let text = self.units.dwarf(having.of.shared)?.attr_string(&having.of.unit, value)?;
                    (text.to_slice()?.into_owned(), false)
                }
            },
            None => return Ok((Lies::Gone, false)),
        };
        Ok((Lies::Constant { bytes, is_negative }, false))
    }

    /// When a variable exists that has one place in the frame from the beginning of the function to its end: from its declaration on.
    fn when(&self, entry: &Die, level: usize, point: &Point) -> Result<When> {
        let Some(having) = self.units.having(entry, gimli::DW_AT_decl_line)? else { return Ok(When::Before) };
        let Some((file_here, line_here)) = point.lines.get(level).copied().flatten() else { return Ok(When::Before) };
        let Some(line) = having.number(gimli::DW_AT_decl_line)? else { return Ok(When::Before) };
        // Go names no file: a variable is declared in that of its function.
        let file = having.file(gimli::DW_AT_decl_file)?.unwrap_or(file_here);
        let is_comparable = having.of.start == entry.of.start && having.of.shared == entry.of.shared && line_here != 0;
        if !is_comparable || !point.rows.is_same_file(self, file, file_here) || line < line_here {
            return Ok(When::Before);
        }
        let column = having.number(gimli::DW_AT_decl_column)?;
        Ok(match line > line_here {
            true => When::Later,
            // The call of an inlined function is no row of its own.
            false if point.is_innermost(level) && point.declares((file_here, line_here), column) => When::Now,
            false => When::Before,
        })
    }
}

/// Whether an expression names a place in the frame.
fn is_in_frame(location: &Location) -> Result<bool> {
    let mut operations = location.expression.clone().operations(location.encoding);
    Ok(match operations.next()? {
        Some(Operation::FrameOffset { .. } | Operation::CallFrameCFA) => true,
        Some(Operation::RegisterOffset { register, .. }) => FRAME.contains(&register.0),
        _ => false,
    })
}
