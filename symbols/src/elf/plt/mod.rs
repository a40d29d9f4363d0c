//! The stubs through which a module calls functions of other modules (procedure linkage table).

mod arm64;
mod stub;
mod x86;

use std::collections::HashMap;

use insn::x86::Vendor;
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, elf as format,
};

use self::stub::Stub;
use super::file::Elf;
use super::headers::{Arch, Parsed};
use super::symbol::{Kind, Symbol};
use crate::code::Mode;

/// Gives `add` a symbol `name@plt` for each stub. The relocation of the slot that a stub jumps through has the name, or the address of a function
/// that `function` names.
pub(crate) fn stubs<'a>(elf: &Elf, function: impl Fn(u64) -> Option<&'a str>, add: &mut dyn FnMut(Symbol<'_>)) {
    let _: Option<()> = elf.with_file(|file| find(elf, file, function, add));
}

fn find<'a>(elf: &Elf, file: &Parsed<'_>, function: impl Fn(u64) -> Option<&'a str>, add: &mut dyn FnMut(Symbol<'_>)) {
    let slots = slots(file, function);
    let got = file.section_by_name(".got.plt").or_else(|| file.section_by_name(".got")).map(|s| s.address());
    for section in file.sections() {
        if !section.name().is_ok_and(is_plt) {
            continue;
        }
        if let Ok(data) = section.data() {
            sweep(elf.arch(), section.address(), data, &slots, got, add);
        }
    }
}

/// Whether a section of this name contains stubs.
pub(crate) fn is_plt(name: &str) -> bool {
    matches!(name, ".plt" | ".plt.got" | ".plt.sec" | ".plt.bnd" | ".iplt")
}

/// Returns the name of the function of each slot in the global offset table.
fn slots<'a>(file: &Parsed<'_>, function: impl Fn(u64) -> Option<&'a str>) -> HashMap<u64, String> {
    let mut slots = HashMap::new();
    let table = file.dynamic_symbol_table();
    for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let name = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                table.as_ref().and_then(|table| table.symbol_by_index(index).ok()?.name().ok().map(str::to_string))
            }
            _ if is_irelative(relocation.flags()) => {
                let resolver = if relocation.has_implicit_addend() {
                    implicit_addend(file, slot)
                } else {
                    Some(relocation.addend() as u64)
                };
                resolver.and_then(&function).map(str::to_string)
            }
            _ => None,
        };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            slots.insert(slot, name);
        }
    }
    slots
}

fn is_irelative(flags: RelocationFlags) -> bool {
    // The numbers are 37, 42 and 1032. No other relocation of these architectures has one of them.
    const ALL: [u32; 3] = [format::R_X86_64_IRELATIVE, format::R_386_IRELATIVE, format::R_AARCH64_IRELATIVE];
    matches!(flags, RelocationFlags::Elf { r_type } if ALL.contains(&r_type))
}

fn implicit_addend(file: &Parsed<'_>, address: u64) -> Option<u64> {
    let data = file.sections().find_map(|section| section.data_range(address, 4).ok().flatten())?;
    data.try_into().ok().map(|bytes| u64::from(u32::from_le_bytes(bytes)))
}

/// Finds the stubs in a section.
fn sweep(
    arch: Arch,
    start: u64,
    data: &[u8],
    slots: &HashMap<u64, String>,
    got: Option<u64>,
    add: &mut dyn FnMut(Symbol<'_>),
) {
    let found = |stub: Stub| {
        let Some(function) = slots.get(&stub.slot) else { return };
        let (name, size) = (format!("{function}@plt"), stub.end.wrapping_sub(stub.start));
        add(Symbol { address: stub.start, size, kind: Kind::Plt, global: false, name: &name, version: None });
    };
    match arch.mode(Vendor::Intel).lenient() {
        Mode::X86(mode) => x86::walk(mode, start, data, got, found),
        Mode::Arm64 => arm64::walk(start, data, found),
    }
}
