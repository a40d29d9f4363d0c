//! What a file states about the dynamic loader.

use object::read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader};
use object::{Object, ObjectKind, elf};

use super::headers::Parsed;
use crate::files::Source;
use crate::text::utf8;

/// The libraries with which the loader links a file, as the file states them (ld.so(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needed {
    /// The names of the libraries.
    pub libraries: Vec<String>,
    /// The folders in which they are looked for first. `$ORIGIN` in them is the file's own folder.
    pub folders: Vec<String>,
}

/// Whether the file names a dynamic loader.
pub(super) fn has_interpreter(file: &Parsed<'_>) -> bool {
    fn ask<'data, H: FileHeader>(file: &ElfFile<'data, H, &'data Source>) -> bool {
        file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == elf::PT_INTERP)
    }
    match file {
        object::File::Elf64(file) => ask(file),
        object::File::Elf32(file) => ask(file),
        _ => false,
    }
}

/// The flags of the dynamic section (`DT_FLAGS_1`), if there is one.
fn flags(file: &Parsed<'_>) -> Option<u64> {
    fn ask<'data, H: FileHeader>(file: &ElfFile<'data, H, &'data Source>) -> Option<u64> {
        let (endian, data) = (file.endian(), file.data());
        let entries =
            file.elf_program_headers().iter().find_map(|header| header.dynamic(endian, data).ok().flatten())?;
        let flags = entries.iter().find(|entry| entry.tag(endian) == elf::DT_FLAGS_1);
        Some(flags.map_or(0, |entry| entry.val(endian)))
    }
    match file {
        object::File::Elf64(file) => ask(file),
        object::File::Elf32(file) => ask(file),
        _ => None,
    }
}

/// Whether the file states that it is a program: it has fixed addresses, or is marked as a position-independent program.
pub(super) fn is_program(file: &Parsed<'_>) -> bool {
    file.kind() == ObjectKind::Executable || flags(file).is_some_and(|flags| flags & u64::from(elf::DF_1_PIE) != 0)
}

/// Whether the file is a shared object that names no dynamic loader, and is not a static position-independent program.
pub(super) fn is_library(file: &Parsed<'_>) -> bool {
    !has_interpreter(file) && flags(file).is_some_and(|flags| flags & u64::from(elf::DF_1_PIE) == 0)
}

/// Returns the libraries that the file states. A malformed file states none.
pub(super) fn needed(file: &Parsed<'_>) -> Needed {
    fn ask<'data, H: FileHeader>(file: &ElfFile<'data, H, &'data Source>) -> Needed {
        let mut needed = Needed::default();
        let Ok(table) = file.elf_dynamic_table() else { return needed };
        for entry in table.iter() {
            let text = || table.string(entry).map(|text| utf8(text).into_owned()).unwrap_or_default();
            match entry.tag {
                elf::DT_NEEDED => needed.libraries.push(text()),
                elf::DT_RPATH | elf::DT_RUNPATH => needed.folders.extend(text().split(':').map(str::to_string)),
                _ => {}
            }
        }
        needed
    }
    match file {
        object::File::Elf64(file) => ask(file),
        object::File::Elf32(file) => ask(file),
        _ => Needed::default(),
    }
}
