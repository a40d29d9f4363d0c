//! Events that rules record.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use serde::{Serialize, Serializer};
use ubp::rules::Occurrence;
use ubp::{EventKind, SyscallResult};

use super::life::Life;
use super::module::Mapped;
use super::signal::Delivered;
use super::syscall::error_name;
use crate::hex::plain;
use crate::native;
use crate::process::{Description, Space, source};
use crate::syscalls;

/// An event that a rule recorded. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct Occurred {
    rule: String,
    sequence: u64,
    #[serde(flatten)]
    what: What,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    registers: BTreeMap<String, String>,
    /// The bytes from the stack pointer on, as hexadecimal digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    stack: String,
    /// The bytes of each part of memory, as hexadecimal digits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory: Vec<String>,
}

/// What happened.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum What {
    At {
        #[serde(flatten, serialize_with = "shared")]
        description: Rc<Description>,
    },
    Call {
        name: String,
        number: u64,
        result: Option<String>,
        error: Option<String>,
    },
    Life(Life),
    Signal(Delivered),
    Mapped {
        modules: Vec<Mapped>,
    },
    Accessed {
        watched: String,
    },
    Other {},
}

impl Occurred {
    pub(super) fn new(space: &mut Space, occurrence: &Occurrence) -> Occurred {
        let call = |arch, number, result, error| What::Call {
            name: syscalls::name(arch, number).map_or_else(|| format!("syscall_{number}"), str::to_string),
            number,
            result,
            error,
        };
        let what = match &occurrence.kind {
            EventKind::Hit(hit) => What::At { description: space.description(hit.address().0) },
            EventKind::SyscallEntered(entered) => call(entered.arch, entered.number, None, None),
            EventKind::SyscallReturned(returned) => {
                let (result, error) = match returned.result {
                    SyscallResult::Value(value) => (Some(format!("{value:#x}")), None),
                    SyscallResult::Error(error) => (None, Some(error_name(error))),
                    _ => (None, None),
                };
                call(returned.arch, returned.number, result, error)
            }
            EventKind::Signal(info) => What::Signal(Delivered::new(info)),
            EventKind::Loaded(modules) | EventKind::Unloaded(modules) => {
                What::Mapped { modules: modules.iter().map(Mapped::new).collect() }
            }
            EventKind::Watched { address, .. } => What::Accessed { watched: address.to_string() },
            kind => Life::of(occurrence.pid, kind).map_or(What::Other {}, What::Life),
        };
        let captured = &occurrence.captured;
        let hexadecimal = |value: &u64| format!("{value:#x}");
        let registers = captured.registers.iter().flat_map(|registers| {
            let named = native::REGISTERS.into_iter();
            named.filter_map(|register| Some((register.to_string(), hexadecimal(&registers.get(register)?))))
        });
        Occurred {
            rule: occurrence.rule.to_string(),
            sequence: occurrence.sequence,
            what,
            arguments: captured.arguments.iter().map(hexadecimal).collect(),
            registers: registers.collect(),
            stack: plain(&captured.stack),
            memory: captured.memory.iter().map(|bytes| plain(bytes)).collect(),
        }
    }
}

impl fmt::Display for Occurred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule)?;
        let arguments =
            if self.arguments.is_empty() { String::new() } else { format!("({})", self.arguments.join(", ")) };
        match &self.what {
            What::At { description } => write!(f, "{}{arguments}{}", description.location, source(description))?,
            What::Call { name, result, error, .. } => {
                write!(f, "{name}{arguments}")?;
                if let Some(result) = result.as_ref().or(error.as_ref()) {
                    write!(f, " = {result}")?;
                }
            }
            What::Life(life) => write!(f, "{life}")?,
            What::Signal(signal) => write!(f, "{signal}")?,
            What::Mapped { modules } => {
                for (number, module) in modules.iter().enumerate() {
                    write!(f, "{}{module}", if number == 0 { "" } else { ", " })?;
                }
            }
            What::Accessed { watched } => write!(f, "access of {watched}")?,
            What::Other {} => {}
        }
        for (name, value) in &self.registers {
            write!(f, " {name}={value}")?;
        }
        if !self.stack.is_empty() {
            write!(f, " stack {}", self.stack)?;
        }
        self.memory.iter().try_for_each(|bytes| write!(f, " memory {bytes}"))
    }
}

fn shared<S: Serializer>(description: &Rc<Description>, serializer: S) -> Result<S::Ok, S::Error> {
    description.serialize(serializer)
}
