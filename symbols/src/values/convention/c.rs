//! The platforms' calling conventions, for C, C++ and what keeps to them.

use super::leaves::{Class, Leaf, leaves};
use super::machine::{Cursor, Machine};
use crate::types::{Shape, Type};
use crate::values::place::{At, Part, Place};

/// Whether C++ passes a value of the type by the address of a copy.
fn is_by_address(kind: &Type) -> bool {
    match &kind.shape {
        Shape::Structure(structure) => structure.by_address,
        Shape::Sequence(sequence) => sequence.by_address,
        _ => false,
    }
}

fn is_composite(kind: &Type) -> bool {
    matches!(
        kind.shape,
        Shape::Structure(_) | Shape::Array { vector: false, .. } | Shape::Sequence(_) | Shape::Variants { .. }
    )
}

fn whole(size: u64, at: At) -> Place {
    Place::Parts(vec![Part { offset: 0, size, at }])
}

/// The class of each eight bytes of a value that x86-64 passes in registers (3.2.3). `None`: it is passed in memory.
fn eightbytes(kind: &Type) -> Option<Vec<Class>> {
    if kind.size > 16 {
        return None;
    }
    let mut classes = vec![None; kind.size.div_ceil(8) as usize];
    for Leaf { offset, size, class } in leaves(kind)? {
        // A member that is not aligned (packed structures) puts the whole into memory.
        if class == Class::Extended || size == 0 || (class != Class::Integer || size <= 8) && offset % size.min(8) != 0
        {
            return None;
        }
        for at in [offset / 8, (offset + size - 1) / 8] {
            let known = classes.get_mut(usize::try_from(at).ok()?)?;
            *known = match (*known, class) {
                (None, class) => Some(class),
                (Some(Class::Integer), _) | (_, Class::Integer) => Some(Class::Integer),
                (known, _) => known,
            };
        }
    }
    Some(classes.into_iter().map(|class| class.unwrap_or(Class::Float)).collect())
}

pub(super) fn on_x86(cursor: &mut Cursor, kind: &Type) -> Option<Place> {
    if is_by_address(kind) {
        return Some(Place::Pointed(cursor.general().or_else(|| cursor.stack(8, 8))?));
    }
    if matches!(kind.shape, Shape::Opaque) {
        return None;
    }
    if let Shape::Array { vector: true, .. } = kind.shape {
        return Some(whole(kind.size, cursor.vector().or_else(|| cursor.stack(kind.size, kind.size))?));
    }
    if kind.size == 0 {
        return Some(Place::Parts(Vec::new()));
    }
    let before = cursor.clone();
    if let Some(parts) = eightbytes(kind).and_then(|classes| in_registers(cursor, kind.size, &classes)) {
        return Some(Place::Parts(parts));
    }
    *cursor = before;
    let is_aligned = |leaf: &Leaf| leaf.class == Class::Extended || leaf.size == 16;
    let alignment = if leaves(kind).unwrap_or_default().iter().any(is_aligned) { 16 } else { 8 };
    Some(whole(kind.size, cursor.stack(kind.size, alignment)?))
}

fn in_registers(cursor: &mut Cursor, size: u64, classes: &[Class]) -> Option<Vec<Part>> {
    let part = |(number, class): (usize, &Class)| {
        let offset = 8 * number as u64;
        let at = if *class == Class::Integer { cursor.general() } else { cursor.vector() }?;
        Some(Part { offset, size: 8.min(size - offset), at })
    };
    classes.iter().enumerate().map(part).collect()
}

/// The one floating-point or vector type of which a value has up to four (AAPCS64, 5.9.5).
fn homogeneous(kind: &Type) -> Option<Vec<Leaf>> {
    let all = leaves(kind)?;
    let first = *all.first()?;
    let is_like = |leaf: &Leaf| (leaf.class, leaf.size) == (first.class, first.size);
    (first.class != Class::Integer && all.len() <= 4 && all.iter().all(is_like)).then_some(all)
}

pub(super) fn on_arm(cursor: &mut Cursor, kind: &Type) -> Option<Place> {
    if matches!(kind.shape, Shape::Opaque) {
        return None;
    }
    if kind.size == 0 {
        return Some(Place::Parts(Vec::new()));
    }
    if let Some(all) = homogeneous(kind).filter(|_| !is_by_address(kind)) {
        let before = cursor.clone();
        let part = |leaf: &Leaf| Some(Part { offset: leaf.offset, size: leaf.size, at: cursor.vector()? });
        if let Some(parts) = all.iter().map(part).collect() {
            return Some(Place::Parts(parts));
        }
        *cursor = before;
        cursor.end_vectors();
        let alignment = if kind.size >= 16 && !is_composite(kind) { 16 } else { 8 };
        return Some(whole(kind.size, cursor.stack(kind.size, alignment)?));
    }
    if is_by_address(kind) || is_composite(kind) && kind.size > 16 {
        return Some(Place::Pointed(cursor.general().or_else(|| cursor.stack(8, 8))?));
    }
    let is_wide = leaves(kind)?.iter().any(|leaf| leaf.size == 16);
    if is_wide {
        cursor.align_general();
    }
    let before = cursor.clone();
    let classes = vec![Class::Integer; kind.size.div_ceil(8) as usize];
    if let Some(parts) = in_registers(cursor, kind.size, &classes) {
        return Some(Place::Parts(parts));
    }
    *cursor = before;
    cursor.end_general();
    Some(whole(kind.size, cursor.stack(kind.size, if is_wide { 16 } else { 8 })?))
}

/// Whether a function returns a value of the type in memory whose address it is given.
pub(super) fn is_returned_in_memory(machine: &Machine, kind: &Type) -> bool {
    if is_by_address(kind) {
        return true;
    }
    if machine.is_arm {
        return is_composite(kind) && kind.size > 16 && homogeneous(kind).is_none();
    }
    is_composite(kind) && kind.size > 0 && eightbytes(kind).is_none()
}

pub(super) fn result(machine: &'static Machine, kind: &Type) -> Option<Place> {
    if is_returned_in_memory(machine, kind) {
        return machine.returned_in_memory();
    }
    let mut cursor = Cursor::new(machine);
    let place = if machine.is_arm { on_arm(&mut cursor, kind) } else { on_x86(&mut cursor, kind) }?;
    let Place::Parts(parts) = place else { return None };
    // The same classes, in the registers of results.
    let mut general = machine.results.iter();
    let in_results = |part: Part| match part.at {
        At::General(_) => Some(Part { at: At::General(*general.next()?), ..part }),
        At::Vector(_) => Some(part),
        At::Stack(_) => None,
    };
    parts.into_iter().map(in_results).collect::<Option<_>>().map(Place::Parts)
}
