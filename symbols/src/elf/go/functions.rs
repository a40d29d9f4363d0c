//! The functions of a Go program by the table that Go's runtime reads. Stripped programs have the table too.

use super::table::Table;
use crate::elf::file::Elf;
use crate::elf::headers::Arch;
use crate::elf::symbol::{Kind, Symbol};

/// The number of bytes of names that are read for each byte of the table.
const NAMES: usize = 2;

/// Gives `add` the functions of the file's table at addresses without a name: none without a table of a known version.
pub(crate) fn functions(elf: &Elf, is_named: impl Fn(u64) -> bool, add: &mut dyn FnMut(Symbol<'_>)) {
    let Some(table) = elf.with_file(|file| Table::find(elf, file)).flatten() else { return };
    // The limit applies to hostile tables in which many functions share a long name. Only the first functions get it.
    let mut left = NAMES * table.data.len();
    for function in table.functions().filter(|function| !is_named(function.address)) {
        let Some(name) = table.name(&function, left) else { continue };
        left = left.saturating_sub(name.len());
        let (address, whole) = (function.address, function.end - function.address);
        let code = elf.bytes_at(address).unwrap_or_default();
        let code = code.get(..usize::try_from(whole).unwrap_or(usize::MAX)).unwrap_or_default();
        let padding = match elf.arch() {
            // `int3` and `udf #0`.
            Arch::X86_64 | Arch::I386 => code.iter().rev().take_while(|byte| **byte == 0xcc).count(),
            Arch::Arm64 => 4 * code.rchunks_exact(4).take_while(|word| **word == [0; 4]).count(),
        };
        let size = whole - padding as u64;
        add(Symbol { address, size, kind: Kind::Function, global: false, name: &name, version: None });
    }
}
