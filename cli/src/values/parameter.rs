//! The parameters of a function, as far as filters ask for them.

use std::rc::Rc;

use ubp_symbols::types::{self, Scope, Shape, Type};
use ubp_symbols::values::{self, Format, SimpleLocation};
use ubp_symbols::{Arch, Module};

use super::kind::Kind;
use super::value::{Known, known};
use crate::native;
use crate::process::Space;

/// The deepest nesting of members that filters read.
const DEEPEST: usize = 4;
/// The most members of a variable.
const MOST: usize = 1000;

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The general register that holds all of it at the function's first instruction, by its number in debug information.
    pub(crate) register: Option<u16>,
    /// Where it lies in memory, if it does throughout the function.
    pub(crate) memory: Option<Memory>,
    /// Its members.
    pub(crate) members: Vec<Member>,
}

/// A member of a structure.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Its place in the structure, unless it is a bit-field.
    pub(crate) offset: Option<u64>,
}

/// A place in memory, for a thread at the location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// So far from the address in a general register, by its number in debug information.
    Frame(u16, i64),
    At(u64),
}

impl Memory {
    /// The place behind it.
    pub(crate) fn behind(self, offset: u64) -> Option<Memory> {
        Some(match self {
            Memory::Frame(register, base) => Memory::Frame(register, base.checked_add(i64::try_from(offset).ok()?)?),
            Memory::At(address) => Memory::At(address.wrapping_add(offset)),
        })
    }
}

/// The parameters of the function at whose first instruction an address is, or the variables in scope inside of one; none if nothing tells them.
pub(crate) fn parameters(space: &Space, address: u64) -> Vec<Parameter> {
    match known(space, address) {
        Known::Described(module, function) => {
            let registers = values::registers(&module, &function);
            let all = function.parameters.iter().zip(registers);
            let parameter = |(parameter, register): (&ubp_symbols::types::Parameter, _)| Parameter {
                name: parameter.name.clone(),
                kind: parameter.kind.as_ref().map_or(Kind::Other, |kind| of(kind)),
                register,
                memory: None,
                members: parameter.kind.as_ref().map(|kind| members(kind)).unwrap_or_default(),
            };
            all.map(parameter).collect()
        }
        Known::Declared(module, probe) => {
            let all = values::operands(module.image.arch(), &probe).into_iter().enumerate();
            all.map(|(number, operand)| declared(number, &operand)).collect()
        }
        Known::Prototype(prototype) => {
            let all = prototype.kinds().zip(native::ARGUMENTS);
            let parameter = |((name, kind), register): ((&str, Kind), _)| Parameter {
                name: name.into(),
                kind,
                register: Some(register),
                memory: None,
                members: Vec::new(),
            };
            all.map(parameter).collect()
        }
        Known::Nothing => in_scope(space, address),
    }
}

/// The arguments of the function at an address, of those in the first six registers, that may point to memory: all of which the types are not known.
pub(crate) fn texts(space: &Space, address: u64) -> Vec<usize> {
    let all = || (0..native::ARGUMENTS.len()).collect();
    match known(space, address) {
        Known::Declared(..) | Known::Nothing => return all(),
        Known::Described(..) | Known::Prototype(_) => {}
    }
    let mut found = Vec::new();
    for Parameter { kind, register, .. } in parameters(space, address) {
        match kind {
            Kind::Integer { .. } | Kind::Enumeration { .. } | Kind::Float => {}
            Kind::Pointer | Kind::Text => match native::ARGUMENTS.iter().position(|known| Some(*known) == register) {
                Some(number) => found.push(number),
                None => return all(),
            },
            // A structure may lie in several registers.
            Kind::Other => return all(),
        }
    }
    found
}

/// The variables that are in scope at an instruction inside of a function.
fn in_scope(space: &Space, address: u64) -> Vec<Parameter> {
    let Some((module, scope)) = scope(space, address) else { return Vec::new() };
    let in_file = module.in_file(address);
    let parameter = |variable: &ubp_symbols::types::Variable| {
        let (register, memory) = match values::simple_location(&module.image, in_file, &scope, variable) {
            Some(SimpleLocation::Register(register)) => (Some(register), None),
            Some(SimpleLocation::Memory { register, offset }) => (None, Some(Memory::Frame(register, offset))),
            Some(SimpleLocation::Static(address)) => (None, Some(Memory::At(module.in_memory(address)))),
            _ => (None, None),
        };
        let known = variable.kind.as_ref().ok();
        Parameter {
            name: variable.name.clone(),
            kind: known.map_or(Kind::Other, |kind| of(kind)),
            register,
            memory,
            members: match known {
                Some(kind) if memory.is_some() => all_members(kind, DEEPEST),
                Some(kind) => members(kind),
                None => Vec::new(),
            },
        }
    };
    scope.variables.iter().map(parameter).collect()
}

/// What is in scope at an instruction inside of a function, and its module. `None`: the address is the first instruction of one, or a static
/// probe, which has arguments of its own, or the code is 32-bit, or nothing is known.
pub(crate) fn scope(space: &Space, address: u64) -> Option<(&Module, Rc<Scope>)> {
    let module = space.module(address).filter(|module| module.image.arch() != Arch::I386)?;
    if space.static_probe(address).is_some() {
        return None;
    }
    let in_file = module.in_file(address);
    // Malformed debug information counts as none.
    let scope = module.image.scope(in_file).ok().flatten()?;
    (scope.start != in_file).then_some((module, scope))
}

/// What the function at whose first instruction an address is returns; `None`: nothing.
pub(crate) fn result(space: &Space, address: u64) -> Option<Kind> {
    match known(space, address) {
        Known::Described(_, function) => match &function.results[..] {
            [] => None,
            _ if function.is_own => Some(Kind::Other),
            [Ok(kind)] => Some(of(kind)),
            _ => Some(Kind::Other),
        },
        Known::Prototype(prototype) => prototype.result_kind(),
        Known::Nothing | Known::Declared(..) => Some(Kind::Integer { size: 8, signed: false }),
    }
}

/// An argument of a static probe.
fn declared(number: usize, operand: &values::Operand) -> Parameter {
    let size = operand.size;
    let kind = match operand.format {
        Format::Unsigned => Kind::Integer { size, signed: false },
        Format::Signed => Kind::Integer { size, signed: true },
        _ => Kind::Float,
    };
    Parameter { name: format!("arg{number}"), kind, register: operand.register(), memory: None, members: Vec::new() }
}

/// What a value of a type is to a filter.
pub(super) fn of(kind: &Type) -> Kind {
    let size = match kind.size {
        size @ (1 | 2 | 4 | 8) => size as u8,
        _ => 0,
    };
    match &kind.shape {
        Shape::Integer { signed } if size > 0 => Kind::Integer { size, signed: *signed },
        Shape::Character | Shape::Boolean if size > 0 => Kind::Integer { size, signed: false },
        Shape::Enumeration(names) if size > 0 => {
            Kind::Enumeration { size, signed: names.iter().any(|(value, _)| *value < 0) }
        }
        Shape::Pointer { reference: false, .. } => Kind::Pointer,
        Shape::Float if matches!(kind.size, 4 | 8) => Kind::Float,
        Shape::Sequence(sequence) if sequence.element.is_none() => Kind::Text,
        _ => Kind::Other,
    }
}

/// The members of a structure and those of its members, `.` between names.
fn all_members(kind: &Type, depth: usize) -> Vec<Member> {
    let mut all = members(kind);
    let Shape::Structure(structure) = &kind.shape else { return all };
    for outer in structure.members.iter().filter(|member| depth > 1 && !member.name.is_empty()) {
        for inner in all_members(&outer.kind, depth - 1) {
            let offset = inner.offset.and_then(|offset| outer.offset.checked_add(offset));
            all.push(Member { name: format!("{}.{}", outer.name, inner.name), offset, ..inner });
            if all.len() == MOST {
                return all;
            }
        }
    }
    all
}

fn members(kind: &Type) -> Vec<Member> {
    let Shape::Structure(structure) = &kind.shape else { return Vec::new() };
    let named = structure.members.iter().filter(|member| !member.name.is_empty());
    let member = |member: &types::Member| Member {
        name: member.name.clone(),
        kind: of(&member.kind),
        offset: member.bits.is_none().then_some(member.offset),
    };
    named.map(member).collect()
}
