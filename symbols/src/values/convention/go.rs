//! Go's ABI for functions of Go: each number of a value in a register of its own, or the whole value on the stack.

use super::leaves::{Class, Leaf, leaves};
use super::machine::Cursor;
use crate::types::{Sequence, Shape, Type};
use crate::values::place::{At, Part, Place};

pub(super) fn value(cursor: &mut Cursor, kind: &Type) -> Option<Place> {
    let mut all = leaves(kind)?;
    if let Shape::Sequence(Sequence { element: Some(_), .. }) = kind.shape {
        // The capacity of a slice.
        all.push(Leaf { offset: 16, size: 8, class: Class::Integer });
    }
    let before = cursor.clone();
    let part = |leaf: &Leaf| {
        let at = if leaf.class == Class::Integer { cursor.general() } else { cursor.vector() }?;
        Some(Part { offset: leaf.offset, size: leaf.size, at })
    };
    let is_array = matches!(kind.shape, Shape::Array { count: 2.., .. });
    if let Some(parts) = all.iter().map(part).collect::<Option<_>>().filter(|_| !is_array) {
        return Some(Place::Parts(parts));
    }
    *cursor = before;
    let at = cursor.stack(kind.size, 8)?;
    Some(Place::Parts(vec![Part { offset: 0, size: kind.size, at }]))
}

/// Whether no part of a value lies on the stack.
pub(super) fn is_in_registers(place: &Place) -> bool {
    matches!(place, Place::Parts(parts) if parts.iter().all(|part| !matches!(part.at, At::Stack(_))))
}
