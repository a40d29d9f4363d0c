//! Where variables lie of which each thread has its own ("ELF Handling For Thread-Local Storage", Drepper).

use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, elf};

use super::dynamic::is_program;
use super::headers::{Arch, Parsed};
use crate::files::Source;

/// Bytes behind arm64's thread pointer that are the C library's (`TLS_TCB_SIZE`).
const RESERVED: u64 = 16;

/// Where a thread's own variable lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadLocal {
    /// At an offset in bytes from the thread pointer: `fs_base` or `tpidr_el0`.
    Offset(i64),
    /// At such an offset, which is the sum of the word at an address of the file and of `behind`. The loader writes the word when it relocates the
    /// file.
    Slot {
        /// The address of the word in the file.
        slot: u64,
        /// Bytes to add.
        behind: i64,
    },
}

/// Finds a variable by its offset in the storage of the file. `None`: the code asks the loader for its address (`__tls_get_addr`), or the file is for
/// i386.
pub(super) fn find(file: &Parsed<'_>, arch: Arch, offset: u64) -> Option<ThreadLocal> {
    let relocation = match arch {
        Arch::X86_64 => elf::R_X86_64_TPOFF64,
        Arch::Arm64 => elf::R_AARCH64_TLS_TPREL,
        Arch::I386 => return None,
    };
    if is_program(file) {
        let start = start(arch, segment(file)?);
        return Some(ThreadLocal::Offset(start.wrapping_add(offset as i64)));
    }
    slot(file, relocation, offset)
}

/// The storage that a file asks for.
#[derive(Clone, Copy)]
struct Storage {
    address: u64,
    size: u64,
    alignment: u64,
}

fn segment(file: &Parsed<'_>) -> Option<Storage> {
    fn ask<'data, H: FileHeader>(file: &ElfFile<'data, H, &'data Source>) -> Option<Storage> {
        let endian = file.endian();
        let header = file.elf_program_headers().iter().find(|header| header.p_type(endian) == elf::PT_TLS)?;
        let (address, size) = (header.p_vaddr(endian).into(), header.p_memsz(endian).into());
        Some(Storage { address, size, alignment: header.p_align(endian).into() })
    }
    match file {
        object::File::Elf64(file) => ask(file),
        object::File::Elf32(file) => ask(file),
        _ => None,
    }
    .filter(|storage| storage.alignment <= 1 || storage.alignment.is_power_of_two())
}

/// The offset of the program's storage from the thread pointer: it is that of the first module (`_dl_determine_tlsoffset` in glibc's
/// elf/dl-tls.c).
fn start(arch: Arch, storage: Storage) -> i64 {
    let Storage { address, size, alignment } = storage;
    let alignment = alignment.max(1);
    // The storage begins at as many bytes behind a multiple of the alignment as the segment does.
    let first = address & (alignment - 1);
    let up = |bytes: u64| bytes.wrapping_add(alignment - 1) & !(alignment - 1);
    match arch {
        Arch::Arm64 => up(RESERVED.wrapping_sub(first)).wrapping_add(first) as i64,
        _ => {
            let missing = first.wrapping_neg() & (alignment - 1);
            (up(size.wrapping_sub(missing)).wrapping_add(missing) as i64).wrapping_neg()
        }
    }
}

/// A word to which the loader writes the offset of any variable of the file.
fn slot(file: &Parsed<'_>, wanted: u32, offset: u64) -> Option<ThreadLocal> {
    let table = file.dynamic_symbol_table();
    let mut all = file.dynamic_relocations().into_iter().flatten();
    all.find_map(|(slot, relocation)| {
        if relocation.flags() != (RelocationFlags::Elf { r_type: wanted }) {
            return None;
        }
        let known = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = table.as_ref()?.symbol_by_index(index).ok()?;
                symbol.is_definition().then(|| symbol.address())?
            }
            _ => 0,
        };
        let known = known.wrapping_add(relocation.addend() as u64);
        Some(ThreadLocal::Slot { slot, behind: offset.wrapping_sub(known) as i64 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_storage_ends_below_or_begins_above_the_thread_pointer() {
        let at = |arch, address, size, alignment| start(arch, Storage { address, size, alignment });
        assert_eq!(at(Arch::X86_64, 0x3000, 4, 4), -4);
        assert_eq!(at(Arch::X86_64, 0x3000, 0x14, 16), -0x20);
        assert_eq!(at(Arch::X86_64, 0x3008, 0x14, 16), -0x18);
        assert_eq!(at(Arch::X86_64, 0x3000, 4, 0), -4);
        assert_eq!(at(Arch::Arm64, 0x3000, 4, 4), 16);
        assert_eq!(at(Arch::Arm64, 0x3000, 4, 64), 64);
        assert_eq!(at(Arch::Arm64, 0x3008, 4, 64), 72);
    }
}
