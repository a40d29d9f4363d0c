//! Source lines by debug information (DWARF).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};

use super::contents::contents;
use super::debug_files;
use super::image::{Image, Parsed, parse};
use crate::files::Source;
use crate::output::utf8;

type Reader = EndianArcSlice<LittleEndian>;

/// The line tables of one file.
pub(crate) struct Lines {
    dwarf: Arc<Dwarf<Reader>>,
    context: addr2line::Context<Reader>,
}

/// What is known of the lines of a source file.
#[derive(Debug, Default)]
pub(crate) struct LineSearch {
    /// Whether there is such a file.
    pub(crate) file_known: bool,
    /// Its lines, and the addresses at which each begins.
    pub(crate) lines: BTreeMap<u64, BTreeSet<u64>>,
}

impl Lines {
    /// Debug information of the image or of its debug file.
    pub(crate) fn load(image: &Image) -> Option<Lines> {
        let source = match has_lines(image.source()) {
            true => image.source(),
            false => image.debug_file().filter(|source| has_lines(source))?,
        };
        let mut dwarf = load(source)?;
        if let Some(supplement) = debug_files::supplement(image, source)
            && let Some(shared) = load(&supplement)
        {
            dwarf.set_sup(shared);
        }
        let dwarf = Arc::new(dwarf);
        let context = addr2line::Context::from_arc_dwarf(Arc::clone(&dwarf)).ok()?;
        Some(Lines { dwarf, context })
    }

    /// File and line of an address, that of the innermost inlined function.
    pub(crate) fn of(&self, address: u64) -> Option<(String, u32)> {
        let location = self.context.find_location(address).ok().flatten()?;
        Some((location.file?.to_string(), location.line?))
    }

    /// The lines of the files whose path ends as `file` does.
    pub(crate) fn find(&self, file: &str) -> LineSearch {
        let mut search = LineSearch::default();
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = self.dwarf.unit(header) {
                // A broken unit hides its own lines only.
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
        // The line of the row before, within a sequence: a line that goes on does not begin.
        let mut before = None;
        while let Some((_, row)) = rows.next_row()? {
            if row.end_sequence() {
                before = None;
                continue;
            }
            // Line 0 is code that belongs to no line.
            let this = row.line().filter(|_| wanted.contains(&row.file_index())).map(u64::from);
            if let Some(line) = this.filter(|_| row.is_stmt() && before != this) {
                search.lines.entry(line).or_default().insert(row.address());
            }
            // A row that is no statement neither begins nor ends one.
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
        let text =
            |value| -> gimli::Result<String> { Ok(utf8(self.dwarf.attr_string(unit, value)?.bytes()).into_owned()) };
        let name = text(entry.path_name())?;
        if name.starts_with('/') {
            return Ok(name);
        }
        let folder = match entry.directory(header) {
            Some(folder) => text(folder)?,
            None => String::new(),
        };
        let base = match &unit.comp_dir {
            Some(base) if !folder.starts_with('/') => utf8(base.bytes()).into_owned(),
            _ => String::new(),
        };
        Ok(Path::new(&base).join(folder).join(name).to_string_lossy().into_owned())
    }
}

/// Whether the last parts of `path` are those of `wanted`.
fn ends_with(path: &str, wanted: &str) -> bool {
    straight(path).ends_with(straight(wanted))
}

/// A path without `.` and without `..` behind a folder's name: as compilers are called, so paths look (`obj/../src/./a.c`).
fn straight(path: &str) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in Path::new(path).components() {
        let goes_back =
            part == Component::ParentDir && matches!(straight.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            _ if goes_back => {
                straight.pop();
            }
            part => straight.push(part),
        }
    }
    straight
}

fn has_lines(source: &Source) -> bool {
    let is_there = |file: Parsed<'_>| file.section_by_name(".debug_line").is_some_and(|section| section.size() > 0);
    parse(source).is_ok_and(is_there)
}

fn load(source: &Source) -> Option<Dwarf<Reader>> {
    let file = parse(source).ok()?;
    let section = |id: SectionId| -> Result<Reader, gimli::Error> {
        let data = file.section_by_name(id.name()).map(|section| contents(source, &section));
        Ok(EndianArcSlice::new(data.unwrap_or_default(), LittleEndian))
    };
    Dwarf::load(section).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_matches_by_whole_last_parts_of_its_path() {
        assert!(ends_with("/src/coreutils/src/ls.c", "ls.c"));
        assert!(ends_with("/src/coreutils/src/ls.c", "src/ls.c"));
        assert!(ends_with("/src/coreutils/src/ls.c", "./src/ls.c"));
        assert!(ends_with("/src/coreutils/obj/.././src/ls.c", "coreutils/src/ls.c"));
        assert!(ends_with("/src/coreutils/src/ls.c", "src/../src/ls.c"));
        assert!(!ends_with("/src/coreutils/src/ls.c", "s.c"));
    }
}
