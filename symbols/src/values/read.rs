//! Makes data from the bytes of a value.

use super::data::Data;
use super::holes::{self, Hole, within};
use super::thread::Thread;
use crate::text::printable;
use crate::types::{Length, Member, Sequence, Shape, Type, TypeId, Types, Variant};

/// The largest number of bytes of a text.
const MOST_TEXT: usize = 64;
/// The largest number of elements that are told.
const MOST_ELEMENTS: u64 = 8;
/// The largest number of members that are told.
const MOST_MEMBERS: usize = 32;
/// The largest number of bytes that are read of what one value leads to.
const MOST_BYTES: usize = 16 << 10;
/// The lowest address that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;
/// The largest number of parts of a structure that is told by a record.
const MOST_PARTS: usize = 256;
/// The deepest nesting of values in values: structures, elements and targets of references.
const DEEPEST: u32 = 6;

pub(super) const UNREADABLE: Data = Data::Unknown("unreadable");

/// Reads values of one module's types.
pub(super) struct Values<'a, T> {
    pub(super) types: &'a Types,
    pub(super) thread: &'a mut T,
    left: usize,
}

/// How deep a value lies in others.
#[derive(Clone, Copy)]
struct Depth {
    /// The number of values around it.
    all: u32,
    /// The number of structures around it whose members are told.
    structures: u32,
    /// Whether it is a member or an element. The pointers among those are not followed.
    part: bool,
}

impl<'a, T: Thread> Values<'a, T> {
    pub(super) fn new(types: &'a Types, thread: &'a mut T) -> Values<'a, T> {
        Values { types, thread, left: MOST_BYTES }
    }

    /// The data of a value of a type with these bytes, of which those in holes are not there.
    pub(super) fn data(&mut self, kind: &Type, bytes: &[u8], holes: &[Hole]) -> Data {
        self.value(kind, bytes, holes, Depth { all: 0, structures: 0, part: false })
    }

    /// Memory of a size, if all of it can be read.
    pub(super) fn memory(&mut self, address: u64, size: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(size).ok().filter(|size| *size <= self.left)?;
        let mut bytes = vec![0; size];
        self.left -= size;
        (address >= LOWEST && self.thread.read(address, &mut bytes) == size).then_some(bytes)
    }

    fn value(&mut self, kind: &Type, bytes: &[u8], holes: &[Hole], depth: Depth) -> Data {
        if depth.all > DEEPEST {
            return Data::Elided;
        }
        if let Some(reason) = holes::reason(kind, holes) {
            return Data::Unknown(reason);
        }
        match &kind.shape {
            // Rust's `()`
            Shape::Integer { .. } if kind.size == 0 => Data::Fields(Vec::new()),
            Shape::Integer { signed } => integer(bytes, *signed),
            Shape::Character => character(bytes),
            Shape::Boolean => number(bytes).map_or(UNREADABLE, |value| Data::Boolean(value != 0)),
            Shape::Float => float(bytes),
            Shape::Enumeration(names) => enumeration(names, bytes),
            Shape::Pointer { target, reference } => self.pointer(*target, *reference, bytes, depth),
            Shape::Array { element, count, .. } => self.array(element, *count, bytes, holes, depth),
            Shape::Structure(structure) => self.structure(&structure.members, bytes, holes, depth),
            Shape::Variants { tag, variants } => self.variants((tag.as_ref(), variants), bytes, holes, depth),
            Shape::Sequence(sequence) => self.sequence(sequence, bytes, depth),
            Shape::Opaque => Data::Unknown("no type"),
        }
    }

    fn pointer(&mut self, target: Option<TypeId>, reference: bool, bytes: &[u8], depth: Depth) -> Data {
        let Some(address) = number(bytes) else { return UNREADABLE };
        let kind = target.and_then(|target| self.types.resolve(target).ok());
        if let Some(kind) = kind.as_ref().filter(|_| reference) {
            return match self.memory(address, kind.size) {
                Some(bytes) if kind.size > 0 => self.value(kind, &bytes, &[], Depth { all: depth.all + 1, ..depth }),
                _ => Data::Pointer { address, text: None, target: None },
            };
        }
        let text = if leads_to_text(target, kind.as_deref()) { self.text_at(address) } else { None };
        let target = kind.filter(|kind| !depth.part && is_followed(kind)).and_then(|kind| {
            let bytes = self.memory(address, kind.size)?;
            Some(Box::new(self.value(&kind, &bytes, &[], Depth { all: depth.all + 1, part: true, ..depth })))
        });
        Data::Pointer { address, text, target }
    }

    fn text_at(&mut self, address: u64) -> Option<String> {
        let mut bytes = [0; MOST_TEXT];
        if address < LOWEST || self.left < MOST_TEXT {
            return None;
        }
        self.left -= MOST_TEXT;
        let read = self.thread.read(address, &mut bytes);
        printable(bytes.get(..read)?)
    }

    fn array(&mut self, element: &Type, count: u64, bytes: &[u8], holes: &[Hole], depth: Depth) -> Data {
        let size = usize::try_from(element.size).unwrap_or(0);
        if size == 0 {
            return Data::List { elements: Vec::new(), more: count };
        }
        if matches!(element.shape, Shape::Character) && size == 1 && holes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            return text(bytes.get(..end).unwrap_or_default(), end as u64);
        }
        let shown = bytes.chunks_exact(size).take(MOST_ELEMENTS.min(count) as usize);
        let inner = Depth { all: depth.all + 1, part: true, ..depth };
        let holes_of = |number: usize| within(holes, (number * size) as u64, size as u64);
        let elements: Vec<Data> =
            shown.enumerate().map(|(number, bytes)| self.value(element, bytes, &holes_of(number), inner)).collect();
        let more = count.saturating_sub(elements.len() as u64);
        Data::List { elements, more }
    }

    fn structure(&mut self, members: &[Member], bytes: &[u8], holes: &[Hole], depth: Depth) -> Data {
        if depth.structures > 0 && !members.is_empty() {
            return Data::Elided;
        }
        let inner = Depth { all: depth.all + 1, structures: depth.structures + 1, part: true };
        let mut fields = Vec::new();
        for member in members.iter().take(MOST_MEMBERS) {
            let value = self.member(member, bytes, holes, inner);
            fields.push((member.name.clone(), value));
        }
        Data::Fields(fields)
    }

    fn member(&mut self, member: &Member, bytes: &[u8], holes: &[Hole], depth: Depth) -> Data {
        if let Some((first, count)) = member.bits {
            return bits(member, first, count, bytes, holes);
        }
        let (offset, size) = (member.offset, member.kind.size);
        match part(bytes, offset, size) {
            Some(bytes) => self.value(&member.kind, bytes, &within(holes, offset, size), depth),
            None => UNREADABLE,
        }
    }

    fn variants(
        &mut self,
        (tag, variants): (Option<&Member>, &[Variant]),
        bytes: &[u8],
        holes: &[Hole],
        depth: Depth,
    ) -> Data {
        let of_tag = tag.map(|tag| within(holes, tag.offset, tag.kind.size)).unwrap_or_default();
        if let Some(hole) = of_tag.first() {
            return Data::Unknown(hole.reason);
        }
        let member = match chosen(tag, variants, bytes) {
            Ok(Some(Variant { member, .. })) => member,
            Ok(None) => return Data::Unknown("no such variant"),
            Err(Unreadable) => return UNREADABLE,
        };
        let (offset, size) = (member.offset, member.kind.size);
        let data = match part(bytes, offset, size) {
            // A variant counts as one structure with its enumeration.
            Some(bytes) => {
                let holes = within(holes, offset, size);
                self.value(&member.kind, bytes, &holes, Depth { all: depth.all + 1, ..depth })
            }
            None => UNREADABLE,
        };
        Data::Variant { name: member.name.clone(), data: Box::new(data) }
    }

    /// Where the elements of a sequence lie, and how many there are. `size` is that of one.
    pub(super) fn extent(&mut self, sequence: &Sequence, size: u64, bytes: &[u8]) -> Option<(u64, u64)> {
        let word = |offset| part(bytes, offset, 8).and_then(number);
        let start = word(sequence.start)?;
        let count = match sequence.length {
            Length::At(offset) => word(offset),
            Length::End(offset) => word(offset).and_then(|end| end.checked_sub(start)?.checked_div(size)),
            Length::Before(distance) => {
                let before = self.memory(start.wrapping_sub(distance), 8);
                before.and_then(|bytes| number(&bytes))
            }
        };
        Some((start, count?))
    }

    fn sequence(&mut self, sequence: &Sequence, bytes: &[u8], depth: Depth) -> Data {
        let element = sequence.element.map(|element| self.types.resolve(element));
        let element = match element {
            Some(Err(_)) => return Data::Unknown("no type"),
            Some(Ok(element)) => Some(element),
            None => None,
        };
        let size = element.as_ref().map_or(1, |element| element.size);
        let Some((start, count)) = self.extent(sequence, size, bytes) else { return UNREADABLE };
        let shown = count.min(if element.is_some() { MOST_ELEMENTS } else { MOST_TEXT as u64 });
        let memory = if shown == 0 { Some(Vec::new()) } else { self.memory(start, shown.saturating_mul(size)) };
        let Some(memory) = memory else { return UNREADABLE };
        match element {
            None => text(&memory, count),
            Some(element) => match self.array(&element, shown, &memory, &[], depth) {
                Data::List { elements, .. } => {
                    let more = count.saturating_sub(elements.len() as u64);
                    Data::List { elements, more }
                }
                other => other,
            },
        }
    }
}

/// Whether a pointer with this target, of this type, may lead to text.
fn leads_to_text(target: Option<TypeId>, kind: Option<&Type>) -> bool {
    match kind {
        None => target.is_none(),
        Some(kind) => kind.size == 1 && matches!(kind.shape, Shape::Character | Shape::Integer { .. }),
    }
}

/// Whether a pointer to a value of a type is told with the value.
fn is_followed(kind: &Type) -> bool {
    kind.size > 0 && matches!(kind.shape, Shape::Structure(_) | Shape::Variants { .. } | Shape::Sequence(_))
}

/// Whether a pointer is told with all that is known of its target, if `bytes` of the memory there are known.
pub(super) fn is_told_by(types: Option<&Types>, target: Option<TypeId>, bytes: u64) -> bool {
    let kind = target.and_then(|target| types?.resolve(target).ok());
    let mut left = MOST_PARTS;
    kind.is_none_or(|kind| !is_followed(&kind) || kind.size <= bytes && is_told_by_itself(types, &kind, &mut left))
}

/// Whether a part of a value is told by its own bytes. `left` is the number of parts that may still be looked at: a file may claim a type whose parts
/// share types, so that their number grows exponentially with the depth.
fn is_told_by_itself(types: Option<&Types>, kind: &Type, left: &mut usize) -> bool {
    let Some(fewer) = left.checked_sub(1) else { return false };
    *left = fewer;
    match &kind.shape {
        Shape::Pointer { target, reference } => {
            let kind = target.and_then(|target| types?.resolve(target).ok());
            !reference && !leads_to_text(*target, kind.as_deref())
        }
        Shape::Array { element, .. } => is_told_by_itself(types, element, left),
        Shape::Structure(structure) => {
            structure.members.iter().all(|member| is_told_by_itself(types, &member.kind, left))
        }
        Shape::Variants { variants, .. } => {
            variants.iter().all(|variant| is_told_by_itself(types, &variant.member.kind, left))
        }
        Shape::Sequence(_) => false,
        _ => true,
    }
}

/// A part of a value cannot be read.
pub(super) struct Unreadable;

/// The variant that a value of an enumeration with these bytes is. `None`: its tag chooses none.
pub(super) fn chosen<'a>(
    tag: Option<&Member>,
    variants: &'a [Variant],
    bytes: &[u8],
) -> Result<Option<&'a Variant>, Unreadable> {
    let Some(tag) = tag else { return Ok(variants.first()) };
    let bytes = part(bytes, tag.offset, tag.kind.size).ok_or(Unreadable)?;
    let value = number(bytes).ok_or(Unreadable)?;
    // A negative value is written with more bytes than the tag has.
    let mask = u64::MAX >> (64 - 8 * bytes.len().clamp(1, 8));
    let is_it = |variant: &&Variant| variant.values.iter().flatten().any(|wanted| wanted & mask == value & mask);
    Ok(variants.iter().find(is_it).or_else(|| variants.iter().find(|variant| variant.values.is_none())))
}

/// The bytes of a part of a value.
pub(super) fn part(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

/// A number of up to eight bytes.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    (1..=8).contains(&bytes.len()).then(|| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn extended(value: u64, size: usize) -> i64 {
    let unused = 64 - 8 * size.clamp(1, 8) as u32;
    ((value << unused) as i64) >> unused
}

fn integer(bytes: &[u8], signed: bool) -> Data {
    match (number(bytes), <[u8; 16]>::try_from(bytes)) {
        (Some(value), _) if signed => Data::Signed(extended(value, bytes.len())),
        (Some(value), _) => Data::Unsigned(value),
        (None, Ok(bytes)) => match i64::try_from(i128::from_le_bytes(bytes)) {
            Ok(value) if signed => Data::Signed(value),
            _ => Data::Wide(u128::from_le_bytes(bytes)),
        },
        (None, Err(_)) => UNREADABLE,
    }
}

fn character(bytes: &[u8]) -> Data {
    let Some(value) = number(bytes) else { return UNREADABLE };
    let known = u32::try_from(value).ok().filter(|value| bytes.len() > 1 || *value < 0x80);
    match known.and_then(char::from_u32) {
        Some(character) => Data::Character(character),
        None if bytes.len() == 1 => Data::Signed(extended(value, 1)),
        None => Data::Unsigned(value),
    }
}

fn float(bytes: &[u8]) -> Data {
    match bytes.len() {
        4 => number(bytes).map_or(UNREADABLE, |bits| Data::Single(bits as u32)),
        8 => number(bytes).map_or(UNREADABLE, Data::Double),
        _ => Data::Unknown("a number of more than 64 bits"),
    }
}

fn enumeration(names: &[(i64, String)], bytes: &[u8]) -> Data {
    let Some(value) = number(bytes) else { return UNREADABLE };
    let signed = extended(value, bytes.len());
    let mask = u64::MAX >> (64 - 8 * bytes.len().clamp(1, 8));
    if let Some((_, name)) = names.iter().find(|(known, _)| *known == signed || *known as u64 & mask == value) {
        return Data::Name(name.clone());
    }
    // Flags: the names of single bits that make up the value.
    let is_set = |known: i64| (known as u64).is_power_of_two() && known as u64 & value != 0;
    let set: Vec<&(i64, String)> = names.iter().filter(|(known, _)| is_set(*known)).collect();
    if value != 0 && set.iter().fold(0, |all, (known, _)| all | *known as u64) == value {
        let names: Vec<&str> = set.iter().map(|(_, name)| name.as_str()).collect();
        return Data::Name(names.join(" | "));
    }
    Data::Signed(signed)
}

/// The value of a bit-field in the bytes of its structure.
pub(super) fn bits(member: &Member, first: u64, count: u64, bytes: &[u8], holes: &[Hole]) -> Data {
    let first = member.offset.saturating_mul(8).saturating_add(first);
    let size = (first % 8).saturating_add(count).div_ceil(8);
    if let Some(hole) = within(holes, first / 8, size).first() {
        return Data::Unknown(hole.reason);
    }
    let value = part(bytes, first / 8, size).and_then(number);
    let (Some(value), 1..=64) = (value, count) else { return UNREADABLE };
    let value = value >> (first % 8) << (64 - count);
    match member.kind.shape {
        Shape::Integer { signed: true } => Data::Signed((value as i64) >> (64 - count)),
        Shape::Boolean => Data::Boolean(value != 0),
        _ => Data::Unsigned(value >> (64 - count)),
    }
}

/// The text of which `bytes` are the first, up to the largest number that is told.
fn text(bytes: &[u8], length: u64) -> Data {
    let shown = bytes.get(..MOST_TEXT).unwrap_or(bytes);
    Data::Text { text: String::from_utf8_lossy(shown).into_owned(), cut: length > shown.len() as u64 }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::types::Structure;

    /// A structure of `width` members of one type, each of which is such a structure, to a depth.
    fn nested(width: usize, depth: u32) -> Type {
        let kind = match depth {
            0 => Type { name: "int".into(), size: 4, shape: Shape::Integer { signed: true } },
            _ => nested(width, depth - 1),
        };
        let kind = Rc::new(kind);
        let member = Member { name: "part".into(), offset: 0, bits: None, kind };
        let structure = Structure { members: vec![member; width], union: true, by_address: false };
        Type { name: "nested".into(), size: 4, shape: Shape::Structure(structure) }
    }

    #[test]
    fn a_type_whose_parts_share_types_is_looked_at_no_longer_than_others() {
        let is_told = |kind: &Type| is_told_by_itself(None, kind, &mut { MOST_PARTS });
        assert!(is_told(&nested(2, 4)));
        // Without a bound, more parts than anybody can look at.
        assert!(!is_told(&nested(8, 24)));
    }
}
