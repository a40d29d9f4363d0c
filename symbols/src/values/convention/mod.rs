//! Calling conventions: where arguments lie at the first instruction of a function, and results behind its last.

mod c;
mod go;
mod leaves;
mod machine;
mod rust;

use self::machine::{Cursor, Machine};
use super::place::Place;
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
    // The address of the memory for a large result comes first, but on arm64.
    let hidden = match (language, results) {
        (Language::C, [result]) => c::is_returned_in_memory(machine, result) && !machine.is_arm,
        (Language::Rust, [result]) => rust::result(machine, result).is_none(),
        _ => false,
    };
    if hidden {
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

/// Where the results of a function lie when it has returned.
pub(super) fn results(arch: Arch, language: Language, types: &[&Type]) -> Vec<Option<Place>> {
    let Some(machine) = Machine::of(arch, language) else { return vec![None; types.len()] };
    match (language, types) {
        (Language::Go, types) => {
            let mut cursor = Cursor::new(machine);
            types.iter().map(|kind| go::value(&mut cursor, kind).filter(go::is_in_registers)).collect()
        }
        (Language::Rust, [kind]) => vec![rust::result(machine, kind).or_else(|| machine.returned_in_memory())],
        (Language::C, [kind]) => vec![c::result(machine, kind)],
        _ => vec![None; types.len()],
    }
}
