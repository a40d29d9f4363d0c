//! Values as trees, of which each level is read when it is asked for.

use std::rc::Rc;

use super::data::Data;
use super::expression::Bytes;
use super::holes::{Hole, within};
use super::read::{UNREADABLE, Values, bits, chosen, part};
use super::thread::Thread;
use crate::process::Module;
use crate::types::{Member, Shape, Type, TypeId, Types};

/// The largest number of children that one request gives.
const MOST: u64 = 256;
/// The largest number of bytes that are read of a child.
const MOST_BYTES: u64 = 64 << 10;

/// A value with a name, whose parts can be read one level at a time: members, elements, and what a pointer leads to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// Its name: that of a variable or member, `[3]` for an element, `*name` for what a pointer leads to. Empty for a base class and for a
    /// member without a name.
    pub name: String,
    /// The name of its type; empty if that is not known.
    pub kind: String,
    /// Its value, as far as it fits a line.
    pub data: Data,
    /// Where it lies in memory; `None` if it lies in registers, is a constant, or has no value.
    pub address: Option<u64>,
    inside: Option<Inside>,
}

/// What the parts of a value are made from.
#[derive(Clone, Debug)]
struct Inside {
    kind: Rc<Type>,
    /// The bytes of the value. They may end before it, if it lies in memory.
    bytes: Rc<[u8]>,
    /// Those that are not there.
    holes: Rc<[Hole]>,
}

impl Node {
    /// A value that cannot be read.
    pub(super) fn unknown(name: String, kind: String, reason: &'static str) -> Node {
        Node { name, kind, data: Data::Unknown(reason), address: None, inside: None }
    }

    /// A value of a type with these bytes.
    pub(super) fn new<T: Thread>(name: String, kind: &Rc<Type>, found: Bytes, types: &Types, thread: &mut T) -> Node {
        let Bytes { bytes, address, holes } = found;
        let data = Values::new(types, thread).data(kind, &bytes, &holes);
        let inside = Some(Inside { kind: Rc::clone(kind), bytes: bytes.into(), holes: holes.into() });
        Node { name, kind: kind.name.clone(), data, address, inside }
    }

    /// Its number of bytes; 0 if that is not known.
    pub fn size(&self) -> u64 {
        self.inside.as_ref().map_or(0, |inside| inside.kind.size)
    }

    /// The value read once more, if it lies in memory: a debugger may have written there. `module` is the one that the value is of.
    pub fn again<T: Thread>(&self, module: &Module, thread: &mut T) -> Node {
        let (Some(address), Some(inside), Some(types)) = (self.address, &self.inside, module.image.types()) else {
            return self.clone();
        };
        let mut bytes = vec![0; inside.bytes.len()];
        if thread.read(address, &mut bytes) < bytes.len() {
            return self.clone();
        }
        let found = Bytes { bytes, address: Some(address), holes: Vec::new() };
        Node::new(self.name.clone(), &inside.kind, found, types, thread)
    }

    /// Whether the value has parts. [`Node::expand`] may still find that they cannot be read.
    pub fn can_expand(&self) -> bool {
        let Some(inside) = &self.inside else { return false };
        if matches!(self.data, Data::Unknown(_)) {
            return false;
        }
        match &inside.kind.shape {
            Shape::Structure(structure) => !structure.members.is_empty(),
            Shape::Array { count, element, .. } => *count > 0 && element.size > 0,
            Shape::Variants { variants, .. } => !variants.is_empty(),
            Shape::Sequence(sequence) => sequence.element.is_some() && !is_empty(&self.data),
            Shape::Pointer { target, .. } => target.is_some() && !matches!(self.data, Data::Pointer { address: 0, .. }),
            _ => false,
        }
    }

    /// The parts of the value from the number `first` on, at most 256: members, elements, the members of the chosen variant, and for a pointer
    /// the members of the structure to which it leads, or what lies there. `module` is the one that the value is of. No parts: there are
    /// none, or none from `first` on.
    ///
    /// The thread must not have run since the node was made.
    pub fn expand<T: Thread>(&self, module: &Module, first: u64, thread: &mut T) -> Vec<Node> {
        let (Some(inside), Some(types), true) = (&self.inside, module.image.types(), self.can_expand()) else {
            return Vec::new();
        };
        let mut reader = Reader { types, thread, first };
        reader.parts(
            &self.name,
            &inside.kind,
            Raw { bytes: &inside.bytes, holes: &inside.holes, address: self.address },
        )
    }
}

fn is_empty(data: &Data) -> bool {
    matches!(data, Data::List { elements, more: 0 } if elements.is_empty())
}

/// The bytes of a value whose parts are read.
#[derive(Clone, Copy)]
struct Raw<'b> {
    bytes: &'b [u8],
    holes: &'b [Hole],
    address: Option<u64>,
}

/// Reads the parts of a value.
struct Reader<'a, T> {
    types: &'a Types,
    thread: &'a mut T,
    /// The number of the first part that is wanted.
    first: u64,
}

impl<T: Thread> Reader<'_, T> {
    fn parts(&mut self, name: &str, kind: &Rc<Type>, raw: Raw<'_>) -> Vec<Node> {
        match &kind.shape {
            Shape::Structure(structure) => self.members(&structure.members, raw),
            Shape::Array { element, count, .. } => self.elements(element, *count, raw),
            Shape::Variants { tag, variants } => match chosen(tag.as_ref(), variants, raw.bytes) {
                Ok(Some(variant)) => self.variant(&variant.member, raw),
                _ => Vec::new(),
            },
            Shape::Sequence(sequence) => {
                let Some(element) = sequence.element.and_then(|element| self.types.resolve(element).ok()) else {
                    return Vec::new();
                };
                let extent = Values::new(self.types, self.thread).extent(sequence, element.size, raw.bytes);
                extent.map_or_else(Vec::new, |(start, count)| {
                    self.elements(&element, count, Raw { bytes: &[], holes: &[], address: Some(start) })
                })
            }
            Shape::Pointer { target: Some(target), .. } => self.target(name, *target, raw.bytes),
            _ => Vec::new(),
        }
    }

    fn members(&mut self, members: &[Member], raw: Raw<'_>) -> Vec<Node> {
        let first = usize::try_from(self.first).unwrap_or(usize::MAX);
        members.iter().skip(first).take(MOST as usize).map(|member| self.member(member, raw)).collect()
    }

    fn member(&mut self, member: &Member, raw: Raw<'_>) -> Node {
        let name = member.name.clone();
        if let Some((first, count)) = member.bits {
            let data = bits(member, first, count, raw.bytes, raw.holes);
            return Node { name, kind: member.kind.name.clone(), data, address: None, inside: None };
        }
        self.part(name, &member.kind, member.offset, raw)
    }

    /// The part at an offset of a value.
    fn part(&mut self, name: String, kind: &Rc<Type>, offset: u64, raw: Raw<'_>) -> Node {
        let address = raw.address.map(|address| address.wrapping_add(offset));
        let known = part(raw.bytes, offset, kind.size).map(<[u8]>::to_vec);
        match known.or_else(|| self.memory(address?, kind.size)) {
            Some(bytes) => {
                let holes = within(raw.holes, offset, kind.size);
                Node::new(name, kind, Bytes { bytes, address, holes }, self.types, self.thread)
            }
            None => Node { name, kind: kind.name.clone(), data: UNREADABLE, address, inside: None },
        }
    }

    fn memory(&mut self, address: u64, size: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(size.min(MOST_BYTES)).ok()?];
        (self.thread.read(address, &mut bytes) == bytes.len()).then_some(bytes)
    }

    fn elements(&mut self, element: &Rc<Type>, count: u64, raw: Raw<'_>) -> Vec<Node> {
        let numbers = self.first..count.min(self.first.saturating_add(MOST));
        let element_at =
            |number: u64| self.part(format!("[{number}]"), element, number.saturating_mul(element.size), raw);
        numbers.map(element_at).collect()
    }

    /// The members of a variant stand for it. A variant that is no structure is the only part.
    fn variant(&mut self, member: &Member, raw: Raw<'_>) -> Vec<Node> {
        match &member.kind.shape {
            Shape::Structure(structure) => {
                let (offset, size) = (member.offset, member.kind.size);
                let holes = within(raw.holes, offset, size);
                let bytes = part(raw.bytes, offset, size).unwrap_or_default();
                let address = raw.address.map(|address| address.wrapping_add(offset));
                self.members(&structure.members, Raw { bytes, holes: &holes, address })
            }
            _ if self.first == 0 => vec![self.member(member, raw)],
            _ => Vec::new(),
        }
    }

    fn target(&mut self, name: &str, target: TypeId, bytes: &[u8]) -> Vec<Node> {
        let Some(kind) = self.types.resolve(target).ok().filter(|kind| kind.size > 0) else { return Vec::new() };
        let Some(at) = super::read::number(bytes) else { return Vec::new() };
        let Some(bytes) = self.memory(at, kind.size) else { return Vec::new() };
        let address = Some(at);
        match &kind.shape {
            Shape::Structure(_) | Shape::Variants { .. } => {
                self.parts(name, &kind, Raw { bytes: &bytes, holes: &[], address })
            }
            _ if self.first == 0 => {
                let found = Bytes { bytes, address, holes: Vec::new() };
                vec![Node::new(format!("*{name}"), &kind, found, self.types, self.thread)]
            }
            _ => Vec::new(),
        }
    }
}
