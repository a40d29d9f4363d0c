//! The parameters of a function, as far as filters ask for them.

use ubp_symbols::types::{Shape, Type};
use ubp_symbols::values::{self, Format};

use super::kind::Kind;
use super::value::{Known, known};
use crate::native;
use crate::process::Space;

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The general register that holds all of it at the function's first instruction, by its number in debug information.
    pub(crate) register: Option<u16>,
    /// Its members by name.
    pub(crate) members: Vec<(String, Kind)>,
}

/// The parameters of the function at whose first instruction an address is; none if nothing tells them.
pub(crate) fn parameters(space: &Space, address: u64) -> Vec<Parameter> {
    match known(space, address) {
        Known::Described(module, function) => {
            let registers = values::registers(&module, &function);
            let all = function.parameters.iter().zip(registers);
            let parameter = |(parameter, register): (&ubp_symbols::types::Parameter, _)| Parameter {
                name: parameter.name.clone(),
                kind: parameter.kind.as_ref().map_or(Kind::Other, |kind| of(kind)),
                register,
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
                members: Vec::new(),
            };
            all.map(parameter).collect()
        }
        Known::Nothing => Vec::new(),
    }
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
    Parameter { name: format!("arg{number}"), kind, register: operand.register(), members: Vec::new() }
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

fn members(kind: &Type) -> Vec<(String, Kind)> {
    let Shape::Structure(structure) = &kind.shape else { return Vec::new() };
    let named = structure.members.iter().filter(|member| !member.name.is_empty());
    named.map(|member| (member.name.clone(), of(&member.kind))).collect()
}
