//! `ntrace record --print`.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use insn::x86::Bits;
use record::{Event, EventKind, Item, Machine, Mapping, Next, Registers, Step};
use serde_json::{Map, Value, json};

use super::file::{failure, open};
use super::instruction;
use crate::args::Format;
use crate::disassembly::Disassembler;
use crate::failure::{Failure, Result};
use crate::hex;
use crate::output::{Output, tell, utf8};

/// Prints a recording.
pub(super) fn run(file: &Path, format: Format) -> Result<ExitCode> {
    let mut recording = open(file)?;
    let mut printer =
        Printer { machine: recording.header().machine, disassembler: Disassembler::new(), mappings: Vec::new() };
    let mut out = Output::stdout();
    for item in recording.by_ref() {
        let item = match item {
            Ok(item) => item,
            Err(error) => {
                out.flush()?;
                let failure = failure(file, &error);
                if !error.is_cut() {
                    return Err(failure);
                }
                tell(failure);
                break;
            }
        };
        match format {
            Format::Text => printer.text(&item, &mut out),
            Format::Json => printer.json(&item, &mut out),
        }?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

struct Printer {
    machine: Machine,
    disassembler: Disassembler,
    mappings: Vec<Mapping>,
}

impl Printer {
    fn text(&mut self, item: &Item, out: &mut Output<'_>) -> Result<()> {
        match item {
            Item::Step(step) => {
                let (bytes, text, length) = self.instruction(step);
                let mut line = String::new();
                let written = self.write_step(&mut line, step, bytes, &text, length);
                written.map_err(|_| Failure::own("a step cannot be formatted"))?;
                out.line(line)
            }
            Item::Event(event) => out.line(format_args!("{:>7} -- {}", event.tid, event_text(event))),
            Item::Mapping(mapping) => {
                self.add_mapping(mapping);
                let (pid, start, end) = (mapping.pid, mapping.start, mapping.end);
                out.line(format_args!("{pid:>7} -- {start:#x} to {end:#x} is {}", utf8(&mapping.path)))
            }
            item => out.line(format_args!("{item:?}")),
        }
    }

    fn write_step(
        &self,
        f: &mut impl fmt::Write,
        step: &Step,
        bytes: &[u8],
        text: &str,
        length: Option<u64>,
    ) -> fmt::Result {
        let location = self.location(step).map(|(module, offset)| format!("{module}+{offset:#x}"));
        write!(f, "{:>7} {:#014x} {:30} ", step.tid, step.pc, location.unwrap_or_default())?;
        write!(f, "{:32} {text}", hex::spaced(bytes))?;
        match step.next {
            Next::At(next) if length.is_some_and(|length| next == step.pc.wrapping_add(length)) => {}
            Next::At(next) => write!(f, "  -> {next:#x}")?,
            Next::Unseen(_) => f.write_str("  (in one step with the next)")?,
            Next::Unfinished => f.write_str("  (not completed)")?,
        }
        for (name, value) in step.registers.iter().flat_map(|registers| self.named(registers)) {
            write!(f, " {name}={value:#x}")?;
        }
        Ok(())
    }

    fn json(&mut self, item: &Item, out: &mut Output<'_>) -> Result<()> {
        let value = match item {
            Item::Step(step) => {
                let (bytes, text, _) = self.instruction(step);
                let (next, seen) = match step.next {
                    Next::At(next) => (Some(next), true),
                    Next::Unseen(next) => (Some(next), false),
                    Next::Unfinished => (None, true),
                };
                let mut value = json!({
                    "event": "step", "tid": step.tid, "pid": step.pid, "pc": address(step.pc), "bytes": hex::plain(bytes),
                    "text": text, "next": next.map(address), "seen": seen,
                });
                if let Some((module, offset)) = self.location(step) {
                    value["module"] = module.into();
                    value["offset"] = address(offset).into();
                }
                if let Some(registers) = &step.registers {
                    let values = self.named(registers).map(|(name, value)| (name.to_string(), address(value).into()));
                    value["registers"] = Value::Object(values.collect::<Map<_, _>>());
                }
                value
            }
            Item::Event(event) => event_json(event),
            Item::Mapping(mapping) => {
                self.add_mapping(mapping);
                json!({
                    "event": "mapping", "pid": mapping.pid, "start": address(mapping.start), "end": address(mapping.end),
                    "base": address(mapping.base), "path": utf8(&mapping.path),
                })
            }
            _ => return Ok(()),
        };
        out.json(&value)
    }

    /// Returns an instruction's bytes, text and length. For bytes that are no instruction, returns all of them and no length.
    fn instruction<'a>(&mut self, step: &'a Step) -> (&'a [u8], String, Option<u64>) {
        let bytes = step.code.bytes();
        match instruction::read(&mut self.disassembler, self.machine, step.bits, bytes, step.pc) {
            Some((bytes, text)) => (bytes, text.unwrap_or_else(|| "(bad)".into()), Some(bytes.len() as u64)),
            None => (bytes, "(bad)".into(), None),
        }
    }

    fn named(&self, registers: &Registers) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.machine.register_names().iter().copied().zip(registers.0)
    }

    fn add_mapping(&mut self, mapping: &Mapping) {
        let is_apart = |old: &Mapping| old.pid != mapping.pid || old.end <= mapping.start || mapping.end <= old.start;
        self.mappings.retain(is_apart);
        self.mappings.push(mapping.clone());
    }

    /// The name of the file that contains an instruction, and the address in it.
    fn location(&self, step: &Step) -> Option<(String, u64)> {
        let mut here = self.mappings.iter().filter(|mapping| mapping.pid == step.pid);
        let mapping = here.find(|mapping| (mapping.start..mapping.end).contains(&step.pc))?;
        let path = utf8(&mapping.path);
        Some((path.rsplit('/').next().unwrap_or(&path).to_string(), step.pc.wrapping_sub(mapping.base)))
    }
}

fn event_text(event: &Event) -> String {
    match event.kind {
        EventKind::Started { by: 0 } => format!("thread of process {}", event.pid),
        EventKind::Started { by } => format!("thread of process {}, made by {by}", event.pid),
        EventKind::Bits(None) => "code segment of its own".into(),
        EventKind::Bits(Some(bits)) => format!("{}-bit code", width(bits)),
        EventKind::Syscall(number) => format!("system call {number}"),
        EventKind::Signal { number, fault: true } => format!("signal {number}, by its instruction"),
        EventKind::Signal { number, fault: false } => format!("signal {number}"),
        EventKind::Exec => "runs another program".into(),
        EventKind::Exited(status) => format!("exited with status {status}"),
        EventKind::Killed(signal) => format!("killed by signal {signal}"),
        EventKind::Released => "let go".into(),
        EventKind::Moved => "moved by the kernel".into(),
        kind => format!("{kind:?}"),
    }
}

fn event_json(event: &Event) -> Value {
    let (name, key, number) = match event.kind {
        EventKind::Started { by } => ("started", "by", Some(u64::from(by))),
        EventKind::Bits(bits) => ("bits", "bits", bits.map(width)),
        EventKind::Syscall(number) => ("syscall", "number", Some(number)),
        EventKind::Signal { number, .. } => ("signal", "number", Some(number.into())),
        EventKind::Exec => ("exec", "", None),
        EventKind::Exited(status) => ("exited", "status", Some(status.into())),
        EventKind::Killed(signal) => ("killed", "signal", Some(signal.into())),
        EventKind::Released => ("released", "", None),
        EventKind::Moved => ("moved", "", None),
        _ => ("other", "", None),
    };
    let mut value = json!({ "event": name, "tid": event.tid, "pid": event.pid });
    if !key.is_empty() {
        value[key] = number.into();
    }
    if let EventKind::Signal { fault, .. } = event.kind {
        value["fault"] = fault.into();
    }
    value
}

fn width(bits: Bits) -> u64 {
    match bits {
        Bits::B16 => 16,
        Bits::B32 => 32,
        Bits::B64 => 64,
    }
}

fn address(value: u64) -> String {
    format!("{value:#x}")
}
