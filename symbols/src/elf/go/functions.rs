//! The functions of a Go program by the table that Go's runtime reads. Stripped programs have the table too.

use super::table::{Function, Table};
use crate::elf::file::Elf;
use crate::elf::headers::Arch;
use crate::elf::symbol::{Kind, Symbol};

/// The number of bytes of names that are read for each byte of the table.
const NAMES: usize = 2;

/// Returns the functions of the file's table at addresses without a name. The result is empty without a table of a known version.
pub(crate) fn functions(elf: &Elf, is_named: impl Fn(u64) -> bool) -> Vec<Symbol> {
    let Some(table) = elf.with_file(|file| Table::find(elf, file)).flatten() else { return Vec::new() };
    // The limit applies to hostile tables in which many functions share a long name. Only the first functions get it.
    let mut left = NAMES * table.data.len();
    let symbol = |function: Function| {
        let name = table.name(&function, left)?;
        left = left.saturating_sub(name.len());
        let (address, name) = (function.address, name.into());
        let size = function.end - address;
        Some(Symbol { address, size, kind: Kind::Function, global: false, name, version: None })
    };
    let unnamed = table.functions().filter(|function| !is_named(function.address));
    let mut functions: Vec<Symbol> = unnamed.filter_map(symbol).collect();
    for function in &mut functions {
        let padding = |code: &[u8]| match elf.arch() {
            // `int3` and `udf #0`.
            Arch::X86_64 | Arch::I386 => code.iter().rev().take_while(|byte| **byte == 0xcc).count(),
            Arch::Arm64 => 4 * code.rchunks_exact(4).take_while(|word| **word == [0; 4]).count(),
        };
        let size = usize::try_from(function.size).unwrap_or(usize::MAX);
        let code = elf.bytes_at(function.address).unwrap_or_default();
        function.size -= padding(code.get(..size).unwrap_or_default()) as u64;
    }
    functions
}
