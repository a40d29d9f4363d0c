//! Calling conventions: where arguments lie at the first instruction of a function, and results behind its last.

mod c;
mod go;
mod leaves;
mod machine;
mod rust;

use self::machine::{Cursor, Machine};
use super::place::{At, Place};
use crate::elf::Arch;
use crate::types::{Language, Type};

/// Where the arguments of a function lie at its first instruction. `None` is an argument of which that is not known, and those behind it.
pub(super) fn arguments(
    arch: Arch,
    language: Language,
    types: &[Option<&Type>],
    results: &[&Type],
) -> Vec<Option<Place>> {
    let Some(machine) = Machine::of(arch, language) else { return vec![None; types.len()] };
    let mut cursor = Cursor::new(machine);
    if is_hidden(machine, language, results) {
        cursor.general();
    }
    let mut places = Vec::new();
    for kind in types {
        let place = kind.and_then(|kind| match language {
            Language::C if machine.is_arm => c::on_arm(&mut cursor, kind),
            Language::C => c::on_x86(&mut cursor, kind),
            Language::Rust => rust::argument(&mut cursor, kind),
            Language::Go => go::value(&mut cursor, kind),
        });
        if place.is_none() {
            break;
        }
        places.push(place);
    }
    places.resize(types.len(), None);
    places
}

/// Whether the address of the memory for a large result is the first argument.
fn is_hidden(machine: &'static Machine, language: Language, results: &[&Type]) -> bool {
    match (language, results) {
        (Language::C, [result]) => c::is_returned_in_memory(machine, result) && !machine.is_arm,
        (Language::Rust, [result]) => rust::result(machine, result).is_none(),
        _ => false,
    }
}

/// Where the address of the memory for a large result lies at a function's first instruction. On arm64 compilers use x8 or x0.
pub(super) fn result_memory(arch: Arch, language: Language, results: &[&Type]) -> Option<At> {
    let machine = Machine::of(arch, language)?;
    (!machine.is_arm && is_hidden(machine, language, results)).then(|| Cursor::new(machine).general()).flatten()
}

/// Where the results of a function lie when it has returned.
pub(super) fn results(arch: Arch, language: Language, types: &[&Type]) -> Vec<Option<Place>> {
    let Some(machine) = Machine::of(arch, language) else { return vec![None; types.len()] };
    match (language, types) {
        (Language::Go, types) => {
            let mut cursor = Cursor::new(machine);
            types.iter().map(|kind| go::value(&mut cursor, kind).filter(go::is_in_registers)).collect()
        }
        // Optimized functions do not return the address of a result in memory.
        (Language::Rust, [kind]) => vec![rust::result(machine, kind)],
        (Language::C, [kind]) => vec![c::result(machine, kind)],
        _ => vec![None; types.len()],
    }
}
