//! Values behind pointers: filters follow the pointers of a function's arguments, as in `item->place.x`.

use std::rc::Rc;

use ubp_symbols::Module;
use ubp_symbols::types::{Shape, Structure, Type, TypeError};

use super::kind::Kind;
use super::parameter;
use super::value::{Known, known};
use crate::process::Space;

/// How a value is reached from a pointer.
pub(crate) struct Reached {
    /// The offsets from each pointer on the way, in bytes. The last one is that of the value.
    pub(crate) offsets: Vec<i64>,
    pub(crate) kind: Kind,
}

/// The most names that a message lists.
const LISTED: usize = 8;

/// Follows `path`, such as `place.x` and `next->place.x`, from the argument `first` of the function at whose first instruction an address is, or from
/// the variable `first` that is in scope at the address.
///
/// # Errors
/// The text names the argument, the member or the debug information that is missing.
pub(crate) fn reached(space: &Space, address: u64, first: &str, path: &str) -> Result<Reached, String> {
    let (name, members) = first.split_once('.').map_or((first, ""), |(name, members)| (name, members));
    let known_kind = |kind: &Result<Rc<Type>, TypeError>| match kind {
        Ok(kind) => Ok(Rc::clone(kind)),
        Err(_) => Err(format!("debug information does not tell the type of '{name}'")),
    };
    let (module, kind) = match known(space, address) {
        Known::Described(module, function) => {
            let parameter = function.parameters.iter().find(|parameter| parameter.name == name);
            (module, parameter.map(|parameter| known_kind(&parameter.kind)))
        }
        _ => match parameter::scope(space, address) {
            Some((module, scope)) => {
                let variable = scope.variables.iter().rev().find(|variable| variable.name == name);
                (module.clone(), variable.map(|variable| known_kind(&variable.kind)))
            }
            None => {
                let what = "no debug information tells what lies behind a pointer here; write *(u32*)(arg0 + 8)";
                return Err(what.into());
            }
        },
    };
    let mut kind = kind.unwrap_or_else(|| Err(format!("'{name}' is no argument here")))?;
    if !members.is_empty() {
        kind = member(&kind, members, first)?.1;
    }
    let (mut offsets, mut told) = (Vec::new(), first.to_string());
    for step in path.split("->") {
        let target = target(&module, &kind, &told)?;
        let (offset, next) = member(&target, step, &told)?;
        offsets.push(offset);
        (kind, told) = (next, format!("{told}->{step}"));
    }
    match parameter::of(&kind) {
        Kind::Integer { size, signed } | Kind::Enumeration { size, signed } => {
            Ok(Reached { offsets, kind: Kind::Integer { size, signed } })
        }
        Kind::Pointer => Ok(Reached { offsets, kind: Kind::Pointer }),
        Kind::Float | Kind::Text | Kind::Other => {
            let advice = names(&kind).map_or(String::new(), |names| format!("; it has {names}"));
            let what = "neither a number without fraction nor a pointer";
            Err(format!("'{told}' has the type {}, {what}{advice}", kind.name))
        }
    }
}

/// The structure to which a pointer leads.
fn target(module: &Module, kind: &Type, told: &str) -> Result<Rc<Type>, String> {
    let Shape::Pointer { target, .. } = &kind.shape else {
        return Err(format!("'{told}' has the type {}, which is no pointer", kind.name));
    };
    let resolved = target.and_then(|id| module.image.types()?.resolve(id).ok());
    resolved.ok_or_else(|| format!("debug information does not tell what lies behind '{told}'"))
}

/// The offset and the type of a member, `.` between names.
fn member(kind: &Rc<Type>, path: &str, told: &str) -> Result<(i64, Rc<Type>), String> {
    let (mut offset, mut kind, mut told) = (0, Rc::clone(kind), told.to_string());
    for name in path.split('.') {
        let Shape::Structure(structure) = &kind.shape else {
            return Err(format!("'{told}' has the type {}, which has no members", kind.name));
        };
        let Some((at, next)) = find(structure, name) else {
            let known = names(&kind).unwrap_or_default();
            return Err(format!("there is no member '{name}' in {}: it has {known}", kind.name));
        };
        let Some(next) = next else {
            return Err(format!("'{name}' of {} is a bit-field, which filters do not read", kind.name));
        };
        offset += at;
        (told, kind) = (format!("{told}.{name}"), next);
    }
    i64::try_from(offset).map(|offset| (offset, kind)).map_err(|_| format!("'{told}' lies too far"))
}

/// The offset and the type of the member of that name, also in members without a name; no type for a bit-field.
fn find(structure: &Structure, name: &str) -> Option<(u64, Option<Rc<Type>>)> {
    structure.members.iter().find_map(|member| {
        if member.name == name {
            return Some((member.offset, member.bits.is_none().then(|| Rc::clone(&member.kind))));
        }
        let Shape::Structure(inner) = &member.kind.shape else { return None };
        let (offset, kind) = member.name.is_empty().then(|| find(inner, name)).flatten()?;
        Some((member.offset.checked_add(offset)?, kind))
    })
}

/// The names of a structure's members.
fn names(kind: &Type) -> Option<String> {
    let Shape::Structure(structure) = &kind.shape else { return None };
    let named = structure.members.iter().map(|member| member.name.as_str()).filter(|name| !name.is_empty());
    Some(named.take(LISTED).collect::<Vec<_>>().join(", "))
}
