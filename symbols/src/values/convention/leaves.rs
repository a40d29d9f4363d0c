//! The numbers of which a value consists.

use crate::types::{Length, Shape, Type};

/// The largest number of numbers in a value that is passed in registers, with those of variants that lie at the same places.
const MOST: usize = 64;

/// A number in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Its offset in bytes.
    pub(super) offset: u64,
    /// Its size in bytes.
    pub(super) size: u64,
    pub(super) class: Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A number without fraction, or a pointer.
    Integer,
    /// A floating-point number of 16, 32 or 64 bits.
    Float,
    /// The 80-bit format of x87, or 128 bits on arm64.
    Extended,
    /// A register of the vector unit.
    Vector,
}

/// The numbers of a value, each place once, ascending. `None`: they are not known, or too many.
pub(super) fn leaves(kind: &Type) -> Option<Vec<Leaf>> {
    let mut all = Vec::new();
    collect(kind, 0, &mut all)?;
    all.sort_by_key(|leaf| (leaf.offset, leaf.size));
    all.dedup();
    Some(all)
}

fn collect(kind: &Type, offset: u64, all: &mut Vec<Leaf>) -> Option<()> {
    let mut push = |offset, size, class| {
        all.push(Leaf { offset, size, class });
        (all.len() <= MOST).then_some(())
    };
    match &kind.shape {
        // Rust's `()` is a number without size in debug information.
        Shape::Integer { .. } if kind.size == 0 => Some(()),
        Shape::Float if kind.size > 8 => push(offset, kind.size, Class::Extended),
        Shape::Float => push(offset, kind.size, Class::Float),
        Shape::Integer { .. } | Shape::Character | Shape::Boolean | Shape::Enumeration(_) | Shape::Pointer { .. } => {
            push(offset, kind.size, Class::Integer)
        }
        Shape::Array { vector: true, .. } => push(offset, kind.size, Class::Vector),
        Shape::Array { element, count, .. } => {
            if *count > MOST as u64 {
                return None;
            }
            (0..*count)
                .try_for_each(|number| collect(element, offset.checked_add(number.checked_mul(element.size)?)?, all))
        }
        Shape::Structure(structure) => structure
            .members
            .iter()
            .try_for_each(|member| collect(&member.kind, offset.checked_add(member.offset)?, all)),
        Shape::Variants { tag, variants } => tag
            .iter()
            .chain(variants.iter().map(|variant| &variant.member))
            .try_for_each(|member| collect(&member.kind, offset.checked_add(member.offset)?, all)),
        Shape::Sequence(sequence) => {
            push(offset.checked_add(sequence.start)?, 8, Class::Integer)?;
            let (Length::At(second) | Length::End(second)) = sequence.length else { return Some(()) };
            all.push(Leaf { offset: offset.checked_add(second)?, size: 8, class: Class::Integer });
            // The rest of the type, which is not kept.
            (kind.size <= 16 || all.len() <= MOST).then_some(())
        }
        Shape::Opaque => None,
    }
}
