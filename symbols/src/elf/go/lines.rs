//! The source lines of a Go program by the table that Go's runtime reads (`pcvalue` in src/runtime/symtab.go).

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::table::{Function, Table};
use crate::elf::file::Elf;
use crate::elf::line_row::LineRow;
use crate::elf::sources::{LineSearch, ends_with};

/// The largest number of steps that a search reads for each byte of the table. Functions may share steps, and without a limit a hostile
/// table in which many functions share them would take too long.
const STEPS: usize = 16;

/// The source lines of one file.
pub(crate) struct GoLines {
    table: Table,
    functions: Vec<Function>,
}

impl GoLines {
    pub(crate) fn load(elf: &Elf) -> Option<GoLines> {
        let table = elf.with_file(|file| Table::find(elf, file)).flatten()?;
        let mut functions: Vec<Function> = table.functions().collect();
        functions.sort_by_key(|function| function.address);
        (!functions.is_empty()).then_some(GoLines { table, functions })
    }

    /// Returns the file and line of an address.
    pub(crate) fn of(&self, address: u64) -> Option<(String, u32)> {
        let behind = self.functions.partition_point(|function| function.address <= address);
        let function = self.functions[..behind].last().filter(|function| address < function.end)?;
        let at = |steps: Vec<Step>| steps.into_iter().find(|step| address < step.end).map(|step| step.value);
        let mut left = self.most_steps();
        let line = at(self.lines(function, &mut left)?)?;
        let number = at(self.files(function, &mut left)?)?;
        let file = self.name(self.name_offset(function, number)?, usize::MAX)?;
        Some((file, u32::try_from(line).ok()?))
    }

    /// Returns the code of source lines at the addresses of a range.
    pub(crate) fn rows(&self, range: Range<u64>) -> Vec<LineRow> {
        let mut rows = Vec::new();
        let (mut left, mut letters) = (self.most_steps(), self.most_steps());
        let mut names: HashMap<u64, Option<Rc<str>>> = HashMap::new();
        let first = self.functions.partition_point(|function| function.end <= range.start);
        for function in self.functions[first..].iter().take_while(|function| function.address < range.end) {
            let files = self.files(function, &mut left);
            let (Some(files), Some(lines)) = (files, self.lines(function, &mut left)) else { continue };
            let mut name_of = |number| {
                let place = self.name_offset(function, number)?;
                let name = names.entry(place).or_insert_with(|| {
                    let name = self.name(place, letters)?;
                    letters = letters.saturating_sub(name.len());
                    Some(Rc::from(name))
                });
                name.clone()
            };
            let mut files = files.iter().map(|step| (step.end, name_of(step.value))).peekable();
            let mut start = function.address;
            for step in lines {
                while files.next_if(|(end, _)| *end <= start).is_some() {}
                let file = files.peek().and_then(|(_, name)| name.clone());
                let line = u32::try_from(step.value).ok().filter(|line| *line > 0);
                let addresses = start.max(range.start)..step.end.min(range.end);
                if let (Some(file), Some(line), false) = (file, line, addresses.is_empty()) {
                    rows.push(LineRow { addresses, file, line });
                }
                start = step.end;
            }
        }
        rows
    }

    /// Returns the lines of all source files whose path ends with `file`.
    pub(crate) fn find(&self, file: &str) -> LineSearch {
        let mut search = LineSearch::default();
        // Whether each source file is wanted, by the offset of its name in the table.
        let mut known: HashMap<u64, bool> = HashMap::new();
        let (mut left, mut letters) = (self.most_steps(), self.most_steps());
        for function in &self.functions {
            let files = self.files(function, &mut left);
            let (Some(files), Some(lines)) = (files, self.lines(function, &mut left)) else { continue };
            let mut is_wanted = |value| {
                let Some(place) = self.name_offset(function, value) else { return false };
                *known.entry(place).or_insert_with(|| {
                    let name = self.name(place, letters).unwrap_or_default();
                    letters = letters.saturating_sub(name.len());
                    ends_with(&name, file)
                })
            };
            let mut files = files.iter().map(|step| (step.end, is_wanted(step.value))).peekable();
            let mut start = function.address;
            for step in lines {
                while files.next_if(|(end, _)| *end <= start).is_some() {}
                let is_there = files.peek().is_some_and(|(_, wanted)| *wanted);
                let line = u64::try_from(step.value).ok().filter(|line| *line > 0 && is_there);
                if let Some(line) = line {
                    search.file_known = true;
                    search.lines.entry(line).or_default().insert(start);
                }
                start = step.end;
            }
        }
        search
    }

    fn most_steps(&self) -> usize {
        self.table.data.len().saturating_mul(STEPS)
    }

    fn files(&self, function: &Function, left: &mut usize) -> Option<Vec<Step>> {
        self.steps(function, self.table.field(function, 5)?, left)
    }

    fn lines(&self, function: &Function, left: &mut usize) -> Option<Vec<Step>> {
        self.steps(function, self.table.field(function, 6)?, left)
    }

    /// Returns the offset of the name of a function's source file, by the file's number.
    fn name_offset(&self, function: &Function, number: i64) -> Option<u64> {
        let unit = self.table.field(function, 8)?;
        let number = unit.checked_add_signed(number)?;
        let at = self.table.part(4)?.checked_add(usize::try_from(number.checked_mul(4)?).ok()?)?;
        self.table.number(at, 4)
    }

    fn name(&self, place: u64, most: usize) -> Option<String> {
        self.table.text(self.table.part(5)?.checked_add(usize::try_from(place).ok()?)?, most)
    }

    /// Returns the values of a function's code, and the address up to which each is valid. The table has pairs of differences as numbers
    /// with seven bits a byte. `left` is the number of steps that may still be read.
    fn steps(&self, function: &Function, offset: u64, left: &mut usize) -> Option<Vec<Step>> {
        let mut at = self.table.part(6)?.checked_add(usize::try_from(offset).ok().filter(|offset| *offset != 0)?)?;
        let (mut steps, mut end, mut value) = (Vec::new(), function.address, -1i64);
        loop {
            *left = left.checked_sub(1)?;
            let difference = self.varint(&mut at)?;
            if difference == 0 && !steps.is_empty() {
                break;
            }
            // The lowest bit is the sign.
            value += i64::from(difference >> 1) ^ -i64::from(difference & 1);
            end = end.checked_add(u64::from(self.varint(&mut at)?) * self.table.quantum())?;
            steps.push(Step { end, value });
        }
        Some(steps)
    }

    fn varint(&self, at: &mut usize) -> Option<u32> {
        let mut value = 0;
        for shift in (0..32).step_by(7) {
            let byte = self.table.number(*at, 1)? as u32;
            *at += 1;
            value |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

/// A value, and the address up to which it is valid.
struct Step {
    end: u64,
    value: i64,
}
