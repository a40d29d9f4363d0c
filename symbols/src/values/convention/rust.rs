//! The calling convention of Rust's own functions, as compilers since 1.79 have it (`fn_abi_adjust_for_abi`): a number or two in registers, what
//! else has a word or less in a general register, results of two words in two, and the rest in memory.

use super::leaves::{Class, Leaf, leaves};
use super::machine::{Cursor, Machine};
use crate::types::{Shape, Type};
use crate::values::place::{At, Part, Place};

/// The parts in which a value is passed. `None`: it is passed by its address. `most` is the largest size of what is neither a number nor two.
fn parts(kind: &Type, most: u64) -> Option<Vec<Leaf>> {
    if kind.size == 0 {
        return Some(Vec::new());
    }
    let all = leaves(kind);
    let is_apart = |all: &Vec<Leaf>| all.windows(2).all(|pair| pair[0].offset + pair[0].size <= pair[1].offset);
    match all {
        // A sequence of three words has leaves for two.
        Some(all) if all.len() <= 2 && is_apart(&all) && kind.size <= 16 && all.iter().all(|leaf| leaf.size <= 8) => {
            Some(all)
        }
        _ if kind.size <= most => {
            let word = |number: u64| {
                let offset = 8 * number;
                Leaf { offset, size: 8.min(kind.size - offset), class: Class::Integer }
            };
            Some((0..kind.size.div_ceil(8)).map(word).collect())
        }
        _ => None,
    }
}

pub(super) fn argument(cursor: &mut Cursor, kind: &Type) -> Option<Place> {
    if matches!(kind.shape, Shape::Opaque) {
        return None;
    }
    let Some(parts) = parts(kind, 8) else {
        return Some(Place::Pointed(cursor.general().or_else(|| cursor.stack(8, 8))?));
    };
    let part = |leaf: Leaf| {
        let register = if leaf.class == Class::Integer { cursor.general() } else { cursor.vector() };
        let at = match register {
            Some(register) => register,
            None => cursor.stack(8, 8)?,
        };
        Some(Part { offset: leaf.offset, size: leaf.size, at })
    };
    parts.into_iter().map(part).collect::<Option<_>>().map(Place::Parts)
}

/// Where a result lies. `None`: in memory whose address the caller gave.
pub(super) fn result(machine: &Machine, kind: &Type) -> Option<Place> {
    let (mut general, mut vector) = (machine.results.iter(), 0..);
    let part = |leaf: Leaf| {
        let at = match leaf.class {
            Class::Integer => At::General(*general.next()?),
            _ => At::Vector(vector.next()?),
        };
        Some(Part { offset: leaf.offset, size: leaf.size, at })
    };
    parts(kind, 16)?.into_iter().map(part).collect::<Option<_>>().map(Place::Parts)
}
