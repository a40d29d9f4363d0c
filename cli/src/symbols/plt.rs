//! The stubs by which a module calls functions of others (the procedure linkage table).

use std::collections::HashMap;

use insn::Flow;
use insn::x86::{Mode, Reg, Vendor, decode};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, elf};

use super::image::{Arch, Image};
use super::table::{Kind, Symbol};

/// Symbols `name@plt` for the stubs, found by the relocation of the table slot that each one jumps through.
pub(crate) fn stubs(image: &Image, symbols: &[Symbol]) -> Vec<Symbol> {
    image.with_file(|file| find(image, file, symbols)).unwrap_or_default()
}

fn find(image: &Image, file: &object::File<'_>, symbols: &[Symbol]) -> Vec<Symbol> {
    let slots = slots(file, symbols);
    let got = file.section_by_name(".got.plt").or_else(|| file.section_by_name(".got")).map(|s| s.address());
    let mut stubs = Vec::new();
    for section in file.sections() {
        if section.name().is_ok_and(is_plt)
            && let Ok(data) = section.data()
        {
            sweep(image.arch(), section.address(), data, &slots, got, &mut stubs);
        }
    }
    stubs
}

/// Whether a section of this name holds stubs.
pub(crate) fn is_plt(name: &str) -> bool {
    matches!(name, ".plt" | ".plt.got" | ".plt.sec" | ".plt.bnd" | ".iplt")
}

/// The function that each slot of the global offset table is for.
fn slots(file: &object::File<'_>, symbols: &[Symbol]) -> HashMap<u64, String> {
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
                resolver
                    .and_then(|address| symbols.iter().find(|s| s.address == address && s.has_code()))
                    .map(|symbol| symbol.name.to_string())
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
    // R_X86_64_IRELATIVE is 37, R_386_IRELATIVE 42.
    matches!(flags, RelocationFlags::Elf { r_type } if r_type.0 == elf::R_X86_64_IRELATIVE.0 || r_type.0 == elf::R_386_IRELATIVE.0)
}

fn implicit_addend(file: &object::File<'_>, address: u64) -> Option<u64> {
    let data = file.sections().find_map(|section| section.data_range(address, 4).ok().flatten())?;
    data.try_into().ok().map(|bytes| u64::from(u32::from_le_bytes(bytes)))
}

fn sweep(arch: Arch, start: u64, data: &[u8], slots: &HashMap<u64, String>, got: Option<u64>, stubs: &mut Vec<Symbol>) {
    let mode = Mode::new(arch.bits(), Vendor::Intel).lenient();
    let mut offset = 0;
    let mut landing_pad = None;
    while let Some(insn) = data.get(offset..).and_then(|rest| decode(rest, mode).ok()) {
        let pc = start.wrapping_add(offset as u64);
        offset += insn.len();
        if matches!(insn.bytes(), [0xf3, 0x0f, 0x1e, 0xfa | 0xfb]) {
            landing_pad = Some(pc);
            continue;
        }
        let stub = landing_pad.take().unwrap_or(pc);
        let Some(memory) = insn.memory().filter(|_| insn.flow() == Flow::Jump) else { continue };
        let slot = match memory.base {
            Some(Reg::RIP) => insn.rip_relative_address(pc),
            None => Some(memory.displacement as u32 as u64),
            Some(Reg::RBX) => got.map(|got| got.wrapping_add_signed(memory.displacement) & 0xffff_ffff),
            Some(_) => None,
        };
        if let Some(name) = slot.and_then(|slot| slots.get(&slot)) {
            let size = start.wrapping_add(offset as u64).wrapping_sub(stub);
            let name = format!("{name}@plt").into();
            stubs.push(Symbol { address: stub, size, kind: Kind::Plt, global: false, name, version: None });
        }
    }
}
