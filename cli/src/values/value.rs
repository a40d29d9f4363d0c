//! One value.

use std::fmt;
use std::rc::Rc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use ubp::{Address, Pid, Record, Registers, Session, Tid};
use ubp_symbols::types::Function;
use ubp_symbols::values::{self, Argument, Data, Held};
use ubp_symbols::{Arch, Module, StackFrame, StaticProbe, printable};

use super::json;
use super::prototypes::{self, Prototype};
use super::thread::Recorded;
use crate::native;
use crate::process::Space;

/// The largest number of bytes of a string that are shown.
const LONGEST: usize = 64;
/// The lowest address that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

/// An argument, or a returned value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A register of which nothing is known, and the text to which it may point.
    Integer { value: u64, string: Option<String> },
    /// A value with a type.
    Typed(Argument),
}

/// The source of the names and types of a function's arguments and result.
pub(super) enum Known {
    Declared(Module, StaticProbe),
    Described(Module, Rc<Function>),
    Prototype(&'static Prototype),
    Nothing,
}

/// Looks for that source, for the function at an address in memory.
pub(super) fn known(space: &Space, address: u64) -> Known {
    if let Some((module, probe)) = space.static_probe(address) {
        return Known::Declared(module.clone(), probe.clone());
    }
    let Some(module) = space.module(address).filter(|module| module.image.arch() != Arch::I386) else {
        return Known::Nothing;
    };
    let in_file = module.in_file(address);
    // Prototypes know flags and permissions, which are plain numbers to the C library's debug information.
    let names = space.labels.get(&address).into_iter().flat_map(|names| names.iter());
    if let Some(prototype) = prototypes::of(&module.image, in_file, names.map(String::as_str)) {
        return Known::Prototype(prototype);
    }
    match module.image.function(in_file) {
        Ok(Some(function)) => Known::Described(module.clone(), function),
        // Malformed debug information counts as none.
        Ok(None) | Err(_) => Known::Nothing,
    }
}

/// Whether the arguments of the function at an address are more than what a record has.
pub(crate) fn needs_trap(space: &Space, address: u64) -> bool {
    match known(space, address) {
        Known::Described(module, function) => !values::is_recordable(&module, &function),
        Known::Declared(_, probe) => !probe.arguments.is_empty(),
        Known::Prototype(_) | Known::Nothing => false,
    }
}

fn held<'a>(session: &'a Session, (pid, tid): (Pid, Tid), registers: &'a Registers) -> Held<'a> {
    Held::new(session, pid, tid, registers)
}

fn typed(arguments: Vec<Argument>) -> Vec<Value> {
    arguments.into_iter().map(Value::Typed).collect()
}

/// A function that was called, by its first instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Callee {
    function: u64,
    /// The address of the memory in which it returns its result, if that is known.
    memory: Option<u64>,
}

impl Callee {
    /// A function of which nothing is kept but its address.
    pub(crate) fn new(function: u64) -> Callee {
        Callee { function, memory: None }
    }

    /// The address of its first instruction.
    pub(crate) fn function(self) -> u64 {
        self.function
    }

    /// The function at whose first instruction a thread is.
    pub(crate) fn entered(session: &mut Session, space: &Space, thread: (Pid, Tid), function: u64) -> Callee {
        let memory = || {
            let Known::Described(module, described) = known(space, function) else { return None };
            let registers = session.registers(thread.1).ok()?;
            values::result_memory(&module, &described, &mut held(session, thread, &registers))
        };
        Callee { memory: memory(), ..Callee::new(function) }
    }
}

impl Value {
    /// The value of an argument of that name, or of a member of one (`point.x`).
    pub(crate) fn member(&self, path: &str) -> Option<&Data> {
        let Value::Typed(Argument { name, data, .. }) = self else { return None };
        if path == name {
            return Some(data);
        }
        let member = path.strip_prefix(&**name)?.strip_prefix('.')?;
        match data {
            Data::Fields(fields) => fields.iter().find(|(name, _)| name == member).map(|(_, data)| data),
            _ => None,
        }
    }

    /// The name and the value, if it is a number that a counter can show.
    pub(crate) fn number(&self) -> Option<(&str, f64)> {
        let Value::Typed(Argument { name, data, .. }) = self else { return None };
        let value = match data {
            Data::Signed(value) => *value as f64,
            Data::Unsigned(value) => *value as f64,
            Data::Boolean(value) => f64::from(u8::from(*value)),
            Data::Single(bits) => f32::from_bits(*bits).into(),
            Data::Double(bits) => f64::from_bits(*bits),
            _ => return None,
        };
        // JSON has no infinity and no NaN.
        value.is_finite().then_some((name.as_str(), value))
    }

    /// The arguments of the function at whose first instruction a thread is.
    pub(crate) fn arguments(
        session: &mut Session,
        space: &Space,
        thread: (Pid, Tid),
        address: u64,
        registers: &Registers,
    ) -> Vec<Value> {
        let text = |session: &mut Session, value| (value, string(session, thread.0, value));
        match known(space, address) {
            Known::Declared(module, probe) => {
                typed(values::operand_values(&module, &probe, &mut held(session, thread, registers)))
            }
            Known::Described(module, function) => {
                let mut held = held(session, thread, registers);
                typed(values::arguments(&module, &function, &mut held))
            }
            Known::Prototype(prototype) => {
                let all = native::arguments(session, thread.0, registers);
                let all: Vec<_> = all.into_iter().map(|value| text(session, value)).collect();
                typed(prototype.arguments(&all))
            }
            Known::Nothing => {
                let all = native::arguments(session, thread.0, registers);
                let integer = |value| Value::Integer { value, string: string(session, thread.0, value) };
                all.into_iter().map(integer).collect()
            }
        }
    }

    /// The variables that are in scope where a thread is.
    pub(crate) fn locals(
        session: &Session,
        space: &mut Space,
        thread: (Pid, Tid),
        registers: &Registers,
    ) -> Vec<Value> {
        let frame = space.modules.innermost(session, registers);
        frame.map_or_else(Vec::new, |frame| Value::in_frame(session, space, thread, &frame, registers))
    }

    /// The variables that are in scope in a frame of a thread with these registers.
    pub(crate) fn in_frame(
        session: &Session,
        space: &Space,
        thread: (Pid, Tid),
        frame: &StackFrame,
        registers: &Registers,
    ) -> Vec<Value> {
        let Some(module) = space.module(frame.inside.0) else { return Vec::new() };
        // Malformed debug information counts as none.
        let all = values::variables(module, frame, &mut held(session, thread, registers)).unwrap_or_default();
        typed(all.into_iter().map(|local| local.value.into()).collect())
    }

    /// The arguments that a record has.
    pub(crate) fn recorded(space: &Space, record: &Record) -> Vec<Value> {
        let texts = record.arguments.into_iter().enumerate();
        let texts = texts.map(|(number, value)| (value, printable(record.text(number))));
        match known(space, record.address.0) {
            Known::Declared(module, probe) => typed(values::operand_values(&module, &probe, &mut Recorded(record))),
            Known::Described(module, function) => typed(values::arguments(&module, &function, &mut Recorded(record))),
            Known::Prototype(prototype) => typed(prototype.arguments(&texts.collect::<Vec<_>>())),
            Known::Nothing => texts.map(|(value, string)| Value::Integer { value, string }).collect(),
        }
    }

    /// The value that a function has just returned. `None`: it is known to return nothing.
    pub(crate) fn returned(
        session: &mut Session,
        space: &Space,
        thread: (Pid, Tid),
        callee: Callee,
        registers: &Registers,
    ) -> Option<Value> {
        let value = native::return_value(registers);
        match known(space, callee.function) {
            Known::Described(module, function) => {
                let mut held = held(session, thread, registers);
                values::results(&module, &function, callee.memory, &mut held).map(Value::Typed)
            }
            Known::Prototype(prototype) => prototype.result(value, string(session, thread.0, value)).map(Value::Typed),
            Known::Nothing | Known::Declared(..) => {
                Some(Value::Integer { value, string: string(session, thread.0, value) })
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer { string: Some(text), .. } => write!(f, "{text:?}"),
            Value::Integer { value, string: None } => write!(f, "{value:#x}"),
            Value::Typed(Argument { name, data, .. }) if name.is_empty() => write!(f, "{data}"),
            Value::Typed(Argument { name, data, .. }) => write!(f, "{name}={data}"),
        }
    }
}

/// The JSON form: `name`, `type`, `value`, and `string` and `target` for the text or the structure to which a pointer leads.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Value::Integer { value, string } => {
                map.serialize_entry("value", &format!("{value:#x}"))?;
                map.serialize_entry("string", string)?;
            }
            Value::Typed(Argument { name, kind, data, .. }) => {
                if !name.is_empty() {
                    map.serialize_entry("name", name)?;
                }
                map.serialize_entry("type", kind)?;
                map.serialize_entry("value", &json::of(data))?;
                if let Data::Pointer { text: Some(text), .. } = data {
                    map.serialize_entry("string", text)?;
                }
                if let Data::Pointer { target: Some(target), .. } = data {
                    map.serialize_entry("target", &json::behind(target))?;
                }
            }
        }
        map.end()
    }
}

/// Arguments in parentheses.
pub(crate) struct List<'a>(pub(crate) &'a [Value]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        between(f, self.0, ["(", ")"])
    }
}

/// Variables in braces.
pub(crate) struct Block<'a>(pub(crate) &'a [Value]);

impl fmt::Display for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        between(f, self.0, ["{", "}"])
    }
}

fn between(f: &mut fmt::Formatter<'_>, values: &[Value], [open, close]: [&str; 2]) -> fmt::Result {
    f.write_str(open)?;
    for (number, value) in values.iter().enumerate() {
        write!(f, "{}{value}", if number == 0 { "" } else { ", " })?;
    }
    f.write_str(close)
}

/// Returns the printable text at an address.
fn string(session: &mut Session, pid: Pid, address: u64) -> Option<String> {
    if address < LOWEST {
        return None;
    }
    let mut bytes = [0; LONGEST];
    let read = session.read_memory(pid, Address(address), &mut bytes).ok()?;
    printable(bytes.get(..read)?)
}
