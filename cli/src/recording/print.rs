//! `ntrace record --print`.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use insn::x86::Bits;
use record::{Event, EventKind, Item, Machine, Mapping, Next, Registers, Step};
use serde_json::{Map, Value, json};

use super::{code, failure, open};
use crate::args::Format;
use crate::disassembly::Disassembler;
use crate::explain::hex;
use crate::failure::{Failure, Result, tell};

/// Prints a trace.
pub(super) fn run(file: &Path, format: Format) -> Result<ExitCode> {
    let mut trace = open(file)?;
    let mut printer =
        Printer { machine: trace.header().machine, disassembler: Disassembler::new(), mappings: Vec::new() };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for item in trace.by_ref() {
        let item = match item {
            Ok(item) => item,
            Err(error) => {
                out.flush().map_err(output_failure)?;
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
        }
        .map_err(output_failure)?;
    }
    out.flush().map_err(output_failure)?;
    Ok(ExitCode::SUCCESS)
}

struct Printer {
    machine: Machine,
    disassembler: Disassembler,
    mappings: Vec<Mapping>,
}

impl Printer {
    fn text(&mut self, item: &Item, out: &mut impl Write) -> io::Result<()> {
        match item {
            Item::Step(step) => {
                let (bytes, text, length) = self.instruction(step);
                let place = self.place(step).map(|(module, offset)| format!("{module}+{offset:#x}"));
                write!(out, "{:>7} {:#014x} {:30} ", step.tid, step.pc, place.unwrap_or_default())?;
                write!(out, "{:32} {text}", hex::spaced(bytes))?;
                match step.next {
                    Next::At(next) if length.is_some_and(|length| next == step.pc.wrapping_add(length)) => {}
                    Next::At(next) => write!(out, "  -> {next:#x}")?,
                    Next::Unseen(_) => write!(out, "  (in one step with the next)")?,
                    Next::Unfinished => write!(out, "  (not completed)")?,
                }
                if let Some(registers) = &step.registers {
                    for (name, value) in self.named(registers) {
                        write!(out, " {name}={value:#x}")?;
                    }
                }
                writeln!(out)
            }
            Item::Event(event) => {
                write!(out, "{:>7} -- ", event.tid)?;
                match event.kind {
                    EventKind::Started { by: 0 } => writeln!(out, "thread of process {}", event.pid),
                    EventKind::Started { by } => writeln!(out, "thread of process {}, made by {by}", event.pid),
                    EventKind::Bits(None) => writeln!(out, "code segment of its own"),
                    EventKind::Bits(Some(bits)) => writeln!(out, "{}-bit code", width(bits)),
                    EventKind::Syscall(number) => writeln!(out, "system call {number}"),
                    EventKind::Signal { number, fault: true } => writeln!(out, "signal {number}, by its instruction"),
                    EventKind::Signal { number, fault: false } => writeln!(out, "signal {number}"),
                    EventKind::Exec => writeln!(out, "runs another program"),
                    EventKind::Exited(status) => writeln!(out, "exited with status {status}"),
                    EventKind::Killed(signal) => writeln!(out, "killed by signal {signal}"),
                    EventKind::Released => writeln!(out, "let go"),
                    EventKind::Moved => writeln!(out, "moved by the kernel"),
                    kind => writeln!(out, "{kind:?}"),
                }
            }
            Item::Mapping(mapping) => {
                self.learn(mapping);
                let (pid, start, end) = (mapping.pid, mapping.start, mapping.end);
                writeln!(out, "{pid:>7} -- {start:#x} to {end:#x} is {}", String::from_utf8_lossy(&mapping.path))
            }
            item => writeln!(out, "{item:?}"),
        }
    }

    fn json(&mut self, item: &Item, out: &mut impl Write) -> io::Result<()> {
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
                if let Some((module, offset)) = self.place(step) {
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
                self.learn(mapping);
                json!({
                    "event": "mapping", "pid": mapping.pid, "start": address(mapping.start), "end": address(mapping.end),
                    "base": address(mapping.base), "path": String::from_utf8_lossy(&mapping.path),
                })
            }
            _ => return Ok(()),
        };
        serde_json::to_writer(&mut *out, &value)?;
        out.write_all(b"\n")
    }

    /// An instruction's bytes, text and length; of what is none, all bytes that are there.
    fn instruction<'a>(&mut self, step: &'a Step) -> (&'a [u8], String, Option<u64>) {
        let bytes = step.code.bytes();
        match code::read(&mut self.disassembler, self.machine, step.bits, bytes, step.pc) {
            Some((bytes, text)) => (bytes, text.unwrap_or_else(|| "(bad)".into()), Some(bytes.len() as u64)),
            None => (bytes, "(bad)".into(), None),
        }
    }

    fn named(&self, registers: &Registers) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.machine.register_names().iter().copied().zip(registers.0)
    }

    fn learn(&mut self, mapping: &Mapping) {
        let is_apart = |old: &Mapping| old.pid != mapping.pid || old.end <= mapping.start || mapping.end <= old.start;
        self.mappings.retain(is_apart);
        self.mappings.push(mapping.clone());
    }

    /// The file that an instruction is of, and its place in it.
    fn place(&self, step: &Step) -> Option<(String, u64)> {
        let mut here = self.mappings.iter().filter(|mapping| mapping.pid == step.pid);
        let mapping = here.find(|mapping| (mapping.start..mapping.end).contains(&step.pc))?;
        let path = String::from_utf8_lossy(&mapping.path);
        Some((path.rsplit('/').next().unwrap_or(&path).to_string(), step.pc.wrapping_sub(mapping.base)))
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

fn output_failure(error: io::Error) -> Failure {
    Failure::own(format!("standard output: {error}"))
}
