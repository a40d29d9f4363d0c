//! The source lines of one function's instructions.

use std::ops::Range;
use std::rc::Rc;

use gimli::ColumnType;

use super::store::Types;
use super::units::{One, Result};

/// The largest number of rows of one function.
const MOST: usize = 1 << 18;

/// Instructions of one line.
struct Row {
    addresses: Range<u64>,
    file: u64,
    line: u64,
    /// 0: not known.
    column: u64,
    /// Whether the compiler says that the frame is set up here.
    is_body: bool,
}

/// The source lines of one function's instructions.
pub(super) struct Rows {
    of: Rc<One>,
    /// In the order of the addresses.
    rows: Vec<Row>,
}

impl Rows {
    /// Reads the rows of these ranges of addresses in the file. A malformed table gives the rows before its error.
    pub(super) fn read(of: &Rc<One>, ranges: &[Range<u64>]) -> Rows {
        let mut rows = Vec::new();
        let _ = collect(of, ranges, &mut rows);
        rows.sort_by_key(|row: &Row| row.addresses.start);
        Rows { of: Rc::clone(of), rows }
    }

    /// The number of the file and the line at an address.
    pub(super) fn at(&self, address: u64) -> Option<(u64, u64)> {
        self.rows.iter().find(|row| row.addresses.contains(&address)).map(|row| (row.file, row.line))
    }

    /// The address behind the instructions that set up the frame of the function whose first range this is.
    pub(super) fn body(&self, first: &Range<u64>) -> u64 {
        let inside = || self.rows.iter().filter(|row| first.contains(&row.addresses.start));
        let said = inside().find(|row| row.is_body);
        // Without a word of the compiler the second line is the first behind them.
        let second = || inside().find(|row| row.addresses.start > first.start && !row.addresses.is_empty());
        said.or_else(second).map_or(first.start, |row| row.addresses.start)
    }

    /// Whether an address is in the declaration of a variable that is declared at a line and a column: in the first instructions of the line, up
    /// to those that write the variable. Compilers give these the column of the variable's name. Without it the first row counts. Only the
    /// function's first range of addresses, `entry`, lies in the order in which it is executed.
    pub(super) fn declares(&self, line: (u64, u64), column: Option<u64>, address: u64, entry: &Range<u64>) -> bool {
        let has_line = |row: &Row| (row.file, row.line) == line && !row.addresses.is_empty();
        let begins = |row: &Row| has_line(row) && entry.contains(&row.addresses.start);
        let Some(first) = self.rows.iter().position(begins) else { return false };
        let of_line = self.rows.iter().skip(first).take_while(|row| has_line(row) || row.addresses.is_empty());
        let of_line: Vec<&Row> = of_line.filter(|row| !row.addresses.is_empty()).collect();
        let is_write = |row: &&Row| Some(row.column) == column;
        let write = of_line.iter().position(is_write).unwrap_or(0);
        let more = of_line.iter().skip(write + 1).take_while(|row| is_write(row)).count();
        of_line.iter().take(write + 1 + more).any(|row| row.addresses.contains(&address))
    }

    /// Whether two numbers of files of the unit mean the same one. Compilers list the main file twice.
    pub(super) fn is_same_file(&self, types: &Types, one: u64, other: u64) -> bool {
        let name = |number| self.name(types, number);
        one == other || name(one).is_some_and(|name_of_one| Some(name_of_one) == name(other))
    }

    fn name(&self, types: &Types, number: u64) -> Option<Vec<u8>> {
        let header = self.of.unit.line_program.as_ref()?.header();
        let entry = header.file(number)?;
        let text = types.units.dwarf(self.of.shared).ok()?.attr_string(&self.of.unit, entry.path_name()).ok()?;
        text.copied()
    }
}

fn collect(of: &One, ranges: &[Range<u64>], rows: &mut Vec<Row>) -> Result<()> {
    let Some(program) = of.unit.line_program.clone() else { return Ok(()) };
    let mut all = program.rows();
    let mut open: Option<Row> = None;
    while let Some((_, row)) = all.next_row()? {
        if let Some(before) = open.take() {
            let before = Row { addresses: before.addresses.start..row.address(), ..before };
            let is_wanted = |range: &Range<u64>| {
                before.addresses.start < range.end && (range.start < before.addresses.end || before.is_body)
            };
            if rows.len() < MOST && ranges.iter().any(is_wanted) {
                rows.push(before);
            }
        }
        // Code with line 0 belongs to no line.
        let line = row.line().map_or(0, u64::from);
        let column = match row.column() {
            ColumnType::Column(column) => column.get(),
            ColumnType::LeftEdge => 0,
        };
        if !row.end_sequence() {
            let addresses = row.address()..row.address();
            open = Some(Row { addresses, file: row.file_index(), line, column, is_body: row.prologue_end() });
        }
    }
    Ok(())
}
