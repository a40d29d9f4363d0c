//! Source lines from debug information (DWARF), or from the table of Go's runtime.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use gimli::{Dwarf, Reader as _, SectionId, UnitSectionOffset};
use object::{Object, ObjectSection};

use super::contents::reader;
use super::debug_files;
use super::file::Elf;
use super::go::GoLines;
use super::headers::{Parsed, parse};
use super::line_row::LineRow;
use super::sources::{LineSearch, ends_with};
use super::unit_map::{UnitMap, alone};
use crate::files::{Fetch, Source};
use crate::reader::Reader;
use crate::text::utf8;

/// The source lines of one file.
pub struct Lines(Table);

/// Where the lines come from.
enum Table {
    /// Debug information.
    Dwarf(Box<DwarfLines>),
    /// The table of Go's runtime, which stripped programs have too.
    Go(GoLines),
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

/// The line tables of one file.
struct DwarfLines {
    dwarf: Arc<Dwarf<Reader>>,
    /// The units by their code, if a list tells them: of most programs nobody asks for more than a few units.
    units: Option<UnitMap>,
    /// The lines of the units that were asked for.
    alone: RefCell<HashMap<usize, Option<Rc<Context>>>>,
    /// The lines of all units.
    whole: OnceCell<Option<Context>>,
}

type Context = addr2line::Context<Reader>;

impl Lines {
    /// Reads the lines of the file, of its debug file (which `debug` returns), or of a Go program. `fetch` brings what several debug files
    /// share.
    pub(super) fn load<'a>(
        elf: &'a Elf,
        debug: impl FnOnce() -> Option<&'a Source>,
        fetch: Option<&Fetch>,
    ) -> Option<Lines> {
        let dwarf = DwarfLines::load(elf, debug, fetch).map(|lines| Table::Dwarf(Box::new(lines)));
        dwarf.or_else(|| GoLines::load(elf).map(Table::Go)).map(Lines)
    }

    /// Returns the file and line of an address. The innermost inlined function counts.
    pub fn of(&self, address: u64) -> Option<(String, u32)> {
        match &self.0 {
            Table::Dwarf(lines) => lines.of(address),
            Table::Go(lines) => lines.of(address),
        }
    }

    /// Returns the code of source lines at the addresses of a range, ascending. Code that belongs to no line is left out. The innermost
    /// inlined function counts.
    pub fn rows(&self, range: Range<u64>) -> Vec<LineRow> {
        match &self.0 {
            Table::Dwarf(lines) => lines.rows(range),
            Table::Go(lines) => lines.rows(range),
        }
    }

    /// The debug information, which the table of Go's runtime is not.
    pub(super) fn dwarf(&self) -> Option<Arc<Dwarf<Reader>>> {
        match &self.0 {
            Table::Dwarf(lines) => Some(Arc::clone(&lines.dwarf)),
            Table::Go(_) => None,
        }
    }

    /// The offset in `.debug_info` of the unit that describes the code at an address.
    pub(super) fn unit(&self, address: u64) -> Option<usize> {
        let Table::Dwarf(lines) = &self.0 else { return None };
        if let Some(unit) = lines.units.as_ref().and_then(|units| units.holding(address)) {
            return Some(unit);
        }
        let unit = lines.whole()?.find_dwarf_and_unit(address).skip_all_loads()?;
        match unit.header.offset() {
            UnitSectionOffset::DebugInfoOffset(offset) => Some(offset.0),
            UnitSectionOffset::DebugTypesOffset(_) => None,
        }
    }

    /// Returns the lines of all source files whose path ends with `file`.
    pub fn find(&self, file: &str) -> LineSearch {
        match &self.0 {
            Table::Dwarf(lines) => lines.find(file),
            Table::Go(lines) => lines.find(file),
        }
    }
}

impl DwarfLines {
    fn load<'a>(elf: &'a Elf, debug: impl FnOnce() -> Option<&'a Source>, fetch: Option<&Fetch>) -> Option<DwarfLines> {
        let source = match has_lines(elf.source()) {
            true => elf.source(),
            false => debug().filter(|source| has_lines(source))?,
        };
        let mut dwarf = load(source)?;
        if let Some(shared) = debug_files::supplement(elf, source, fetch).and_then(|found| load(&found)) {
            dwarf.set_sup(shared);
        }
        // Names in a file that several debug files share are looked up with all units.
        let units = if dwarf.sup().is_none() { UnitMap::load(&dwarf, |address| elf.is_code(address)) } else { None };
        let lines = DwarfLines { dwarf: Arc::new(dwarf), units, alone: RefCell::default(), whole: OnceCell::new() };
        (lines.units.is_some() || lines.whole().is_some()).then_some(lines)
    }

    /// The lines of all units.
    fn whole(&self) -> Option<&Context> {
        self.whole.get_or_init(|| Context::from_arc_dwarf(Arc::clone(&self.dwarf)).ok()).as_ref()
    }

    /// The lines of the unit with the code at an address alone, if the list tells it and not all units are known already.
    fn alone(&self, address: u64) -> Option<Rc<Context>> {
        let unit = self.units.as_ref().filter(|_| self.whole.get().is_none())?.holding(address)?;
        let read = || alone(&self.dwarf, unit).and_then(Context::from_dwarf).ok().map(Rc::new);
        self.alone.borrow_mut().entry(unit).or_insert_with(read).clone()
    }

    fn of(&self, address: u64) -> Option<(String, u32)> {
        let told = |context: &Context| {
            let location = context.find_location(address).ok().flatten()?;
            Some((location.file?.to_string(), location.line?))
        };
        match self.alone(address) {
            Some(unit) => told(&unit),
            None => told(self.whole()?),
        }
    }

    fn rows(&self, range: Range<u64>) -> Vec<LineRow> {
        // What cannot be read has no lines.
        let found = self.whole().and_then(|whole| whole.find_location_range(range.start, range.end).ok());
        let mut rows: Vec<LineRow> = Vec::new();
        for (start, length, location) in found.into_iter().flatten() {
            let (Some(name), Some(line)) = (location.file, location.line) else { continue };
            let last = rows.last().map(|row| &row.file).filter(|file| ***file == *name);
            let file = last.map_or_else(|| Rc::from(name), Rc::clone);
            rows.push(LineRow { addresses: start..start.saturating_add(length), file, line });
        }
        rows.sort_by_key(|row| row.addresses.start);
        rows
    }

    fn find(&self, file: &str) -> LineSearch {
        let mut search = LineSearch::default();
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = self.dwarf.unit(header) {
                // A malformed unit hides only its own lines.
                let _ = self.find_in_unit(&unit, file, &mut search);
            }
        }
        search
    }

    fn find_in_unit(&self, unit: &gimli::Unit<Reader>, file: &str, search: &mut LineSearch) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut wanted = BTreeSet::new();
        let header = program.header();
        let first = u64::from(header.version() < 5);
        for (index, entry) in (first..).zip(header.file_names()) {
            if ends_with(&self.path(unit, header, entry)?, file) {
                wanted.insert(index);
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        search.file_known = true;
        let mut rows = program.rows();
        // The line of the previous row in the sequence. A row with the same line does not start that line.
        let mut before = None;
        while let Some((_, row)) = rows.next_row()? {
            if row.end_sequence() {
                before = None;
                continue;
            }
            // Code with line 0 belongs to no line.
            let this = row.line().filter(|_| wanted.contains(&row.file_index())).map(u64::from);
            if let Some(line) = this.filter(|_| row.is_stmt() && before != this) {
                search.lines.entry(line).or_default().insert(row.address());
            }
            // A row that is not a statement neither starts nor ends a line.
            if row.is_stmt() {
                before = this;
            }
        }
        Ok(())
    }

    fn path(
        &self,
        unit: &gimli::Unit<Reader>,
        header: &gimli::LineProgramHeader<Reader>,
        entry: &gimli::FileEntry<Reader>,
    ) -> gimli::Result<String> {
        let text = |value| -> gimli::Result<String> {
            Ok(utf8(&self.dwarf.attr_string(unit, value)?.to_slice()?).into_owned())
        };
        let name = text(entry.path_name())?;
        if name.starts_with('/') {
            return Ok(name);
        }
        let folder = match entry.directory(header) {
            Some(folder) => text(folder)?,
            None => String::new(),
        };
        let base = match &unit.comp_dir {
            Some(base) if !folder.starts_with('/') => utf8(&base.to_slice()?).into_owned(),
            _ => String::new(),
        };
        Ok(Path::new(&base).join(folder).join(name).to_string_lossy().into_owned())
    }
}

fn has_lines(source: &Source) -> bool {
    let is_there = |file: Parsed<'_>| file.section_by_name(".debug_line").is_some_and(|section| section.size() > 0);
    parse(source).is_ok_and(is_there)
}

fn load(source: &Source) -> Option<Dwarf<Reader>> {
    let file = parse(source).ok()?;
    let section = |id: SectionId| -> Result<Reader, gimli::Error> {
        let section = file.section_by_name(id.name()).map(|section| reader(source, &section));
        Ok(section.unwrap_or_else(|| Reader::whole(Arc::default())))
    };
    Dwarf::load(section).ok()
}
