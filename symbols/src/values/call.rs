//! The arguments and results of a call.

use std::rc::Rc;

use super::convention;
use super::data::Data;
use super::expression::{Base, Entry, Frame, Missing, cfa_at_entry};
use super::place::{At, Part, Place};
use super::read::{Values, is_told_by};
use super::thread::Thread;
use crate::elf::Arch;
use crate::process::Module;
use crate::types::{Function, Known, Shape, Type};

/// The largest number of bytes of one argument.
const MOST: u64 = 4096;
/// The number of registers of arguments that a record has.
const RECORDED: usize = 6;
/// The bytes of memory that a record has for each of them.
const TEXT: u64 = 64;

/// An argument of a call, or what it returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument {
    /// Its name; empty for what was returned, and for a parameter without one.
    pub name: String,
    /// The name of its type.
    pub kind: String,
    /// Its value.
    pub data: Data,
}

impl Argument {
    /// A value of a type.
    pub fn new(name: impl Into<String>, kind: impl Into<String>, data: Data) -> Argument {
        Argument { name: name.into(), kind: kind.into(), data }
    }
}

/// The arguments of a function of a module at whose first instruction a thread is.
pub fn arguments<T: Thread>(module: &Module, function: &Function, thread: &mut T) -> Vec<Argument> {
    let arch = module.image.arch();
    let places = places(arch, function);
    let all = function.parameters.iter().zip(places);
    let read = |(parameter, place): (&crate::types::Parameter, Option<Place>)| {
        let name = parameter.name.clone();
        match &parameter.kind {
            Ok(kind) => {
                let data = argument(module, kind, &parameter.known, place, thread);
                Argument { name, kind: kind.name.clone(), data }
            }
            Err(_) => Argument { name, kind: String::new(), data: Data::Unknown("malformed debug information") },
        }
    };
    all.map(read).collect()
}

fn types(function: &Function) -> Vec<&Rc<Type>> {
    function.results.iter().filter_map(|result| result.as_ref().ok()).collect()
}

fn places(arch: Arch, function: &Function) -> Vec<Option<Place>> {
    let kinds: Vec<Option<&Type>> =
        function.parameters.iter().map(|parameter| parameter.kind.as_ref().ok().map(Rc::as_ref)).collect();
    let results: Vec<&Type> = types(function).into_iter().map(Rc::as_ref).collect();
    convention::arguments(arch, function.language, &kinds, &results)
}

fn argument<T: Thread>(module: &Module, kind: &Type, known: &Known, place: Option<Place>, thread: &mut T) -> Data {
    let Some(types) = module.image.types() else { return Data::Unknown("no type") };
    let found = match (known, place) {
        (Known::Gone, _) => return Data::Unknown("optimized out"),
        (Known::Constant(value), _) => {
            let size = usize::try_from(kind.size).unwrap_or(0).min(8);
            value.to_le_bytes().get(..size).map(|bytes| (bytes.to_vec(), Vec::new()))
        }
        (Known::Location(location), _) => {
            let (arch, bias, cfa) = (module.image.arch(), module.bias, cfa_at_entry(module.image.arch(), thread));
            let (types, base, entry) = (Some(types), Base::Cfa, Entry::Now);
            let mut frame = Frame { thread, arch, bias, file: None, types, cfa, base, entry };
            match frame.bytes(location, kind.size) {
                Ok(found) => Some((found.bytes, found.holes)),
                Err(Missing::Gone) => return Data::Unknown(Missing::Gone.reason()),
                Err(_) => None,
            }
        }
        (Known::Convention, Some(place)) => {
            bytes(module.image.arch(), &place, kind.size, thread).map(|bytes| (bytes, Vec::new()))
        }
        (Known::Convention, None) => None,
    };
    match found {
        Some((bytes, holes)) => Values::new(types, thread).data(kind, &bytes, &holes),
        None => Data::Unknown("unreadable"),
    }
}

/// The address of the memory in which a function of a module will return its result. A thread is at the function's first instruction. `None`: it
/// returns no result in memory, or the address is not known.
pub fn result_memory<T: Thread>(module: &Module, function: &Function, thread: &mut T) -> Option<u64> {
    let arch = module.image.arch();
    let results: Vec<&Rc<Type>> = types(function);
    let results: Vec<&Type> = results.iter().map(|kind| &***kind).collect();
    let at = convention::result_memory(arch, function.language, &results)?;
    let mut address = [0; 8];
    fetch(arch, at, &mut address, thread)?;
    Some(u64::from_le_bytes(address))
}

/// What a function of a module returned to which a thread has just returned from it. `None`: it returns nothing. `memory` is what
/// [`result_memory`] was at the function's first instruction.
pub fn results<T: Thread>(
    module: &Module,
    function: &Function,
    memory: Option<u64>,
    thread: &mut T,
) -> Option<Argument> {
    let arch = module.image.arch();
    if function.is_own && !function.results.is_empty() {
        return Some(Argument::new("", "", Data::Unknown("optimized out")));
    }
    let malformed = Data::Unknown("malformed debug information");
    if function.results.iter().any(Result::is_err) {
        return Some(Argument { name: String::new(), kind: String::new(), data: malformed });
    }
    let kinds = types(function);
    let plain: Vec<&Type> = kinds.iter().map(|kind| &***kind).collect();
    let places = convention::results(arch, function.language, &plain);
    let types = module.image.types()?;
    let mut all = Vec::new();
    for (kind, place) in plain.iter().zip(places) {
        let bytes = match memory {
            Some(address) => bytes_at(address, kind.size, thread),
            None => place.and_then(|place| bytes(arch, &place, kind.size, thread)),
        };
        let data = bytes.map(|bytes| Values::new(types, thread).data(kind, &bytes, &[]));
        all.push((kind.name.clone(), data.unwrap_or(Data::Unknown("unreadable"))));
    }
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let kind = names.join(", ");
    let name = String::new();
    match <[_; 1]>::try_from(all) {
        Ok([(_, data)]) => Some(Argument { name, kind, data }),
        Err(all) if all.is_empty() => None,
        Err(all) => {
            let fields = all.into_iter().map(|(_, data)| (String::new(), data)).collect();
            Some(Argument { name, kind, data: Data::Fields(fields) })
        }
    }
}

/// The bytes of a value at a place.
fn bytes<T: Thread>(arch: Arch, place: &Place, size: u64, thread: &mut T) -> Option<Vec<u8>> {
    let length = usize::try_from(size).ok().filter(|_| size <= MOST)?;
    let mut value = vec![0; length];
    match place {
        Place::Parts(parts) => {
            for part in parts {
                let start = usize::try_from(part.offset).ok()?;
                let end = start.checked_add(usize::try_from(part.size).ok()?)?;
                let target = value.get_mut(start..end)?;
                fetch(arch, part.at, target, thread)?;
            }
        }
        Place::Pointed(at) => {
            let mut address = [0; 8];
            fetch(arch, *at, &mut address, thread)?;
            return bytes_at(u64::from_le_bytes(address), size, thread);
        }
    }
    Some(value)
}

/// The bytes of a value in memory.
fn bytes_at<T: Thread>(address: u64, size: u64, thread: &mut T) -> Option<Vec<u8>> {
    let length = usize::try_from(size).ok().filter(|_| size <= MOST)?;
    let mut value = vec![0; length];
    (thread.read(address, &mut value) == length).then_some(value)
}

fn fetch<T: Thread>(arch: Arch, at: At, target: &mut [u8], thread: &mut T) -> Option<()> {
    let bytes = match at {
        At::General(number) => thread.general(number)?.to_le_bytes().to_vec(),
        At::Vector(number) => thread.vector(number)?,
        At::Stack(distance) => {
            let sp = thread.general(if arch == Arch::Arm64 { 31 } else { 7 })?;
            let length = target.len();
            return (thread.read(sp.wrapping_add(distance), target) == length).then_some(());
        }
    };
    target.copy_from_slice(bytes.get(..target.len())?);
    Some(())
}

/// Whether the registers and texts of a record tell all arguments of a function ([`ubp::Record`]): each is a number or a pointer, in one of the
/// registers that records have. Of a pointer, the target is not told, is text, or is a structure of at most 64 bytes that leads to nothing else.
pub fn is_recordable(module: &Module, function: &Function) -> bool {
    let arch = module.image.arch();
    let (types, recorded) = (module.image.types(), recorded(arch));
    let registers = registers(module, function);
    function.parameters.iter().zip(registers).all(|(parameter, register)| {
        let Ok(kind) = &parameter.kind else { return true };
        let is_plain = match &kind.shape {
            Shape::Integer { .. } | Shape::Character | Shape::Boolean | Shape::Enumeration(_) => true,
            Shape::Pointer { target, reference } => !reference && is_told_by(types, *target, TEXT),
            _ => false,
        };
        match parameter.known {
            Known::Gone | Known::Constant(_) => true,
            _ => is_plain && register.is_some_and(|number| recorded.contains(&number)),
        }
    })
}

/// The general register that holds all of each parameter at the function's first instruction, by its number in debug information. `None`: the
/// parameter lies elsewhere, or in several registers.
pub fn registers(module: &Module, function: &Function) -> Vec<Option<u16>> {
    let places = places(module.image.arch(), function);
    let register = |(parameter, place): (&crate::types::Parameter, Option<Place>)| match (&parameter.known, place) {
        (Known::Location(location), _) => register_of(location),
        (Known::Convention, Some(Place::Parts(parts))) => match parts[..] {
            [Part { at: At::General(number), offset: 0, .. }] => Some(number),
            _ => None,
        },
        _ => None,
    };
    function.parameters.iter().zip(places).map(register).collect()
}

/// The registers of arguments that records have, by their numbers in debug information.
fn recorded(arch: Arch) -> [u16; RECORDED] {
    match arch {
        Arch::Arm64 => [0, 1, 2, 3, 4, 5],
        _ => [5, 4, 1, 2, 8, 9],
    }
}

/// The one register that an expression names.
fn register_of(location: &crate::types::Location) -> Option<u16> {
    let mut operations = location.expression.clone().operations(location.encoding);
    match (operations.next().ok()?, operations.next().ok()?) {
        (Some(gimli::Operation::Register { register }), None) => Some(register.0),
        _ => None,
    }
}
