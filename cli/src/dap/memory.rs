//! Memory, and the instructions in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use ubp::{Address, Pid};
use ubp_symbols::{Module, code};

use super::adapter::Adapter;
use super::lines::{mode, number_of, source};
use super::refusal::{Answered, Refusal};
use crate::disassembly::{Disassembler, arm64_text};
use crate::hex;

/// The most bytes of memory of one request.
const MOST_BYTES: u64 = 1 << 20;
/// The most instructions of one request.
const MOST_INSTRUCTIONS: usize = 10_000;

/// What `readMemory` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadFields {
    memory_reference: String,
    #[serde(default)]
    offset: i64,
    count: u64,
}

/// What `writeMemory` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteFields {
    memory_reference: String,
    #[serde(default)]
    offset: i64,
    data: String,
}

/// What `disassemble` has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DisassembleFields {
    memory_reference: String,
    #[serde(default)]
    offset: i64,
    #[serde(default)]
    instruction_offset: i64,
    instruction_count: usize,
}

impl Adapter {
    /// The process whose memory is meant: addresses name none.
    pub(super) fn memory_of(&self) -> Result<Pid, Refusal> {
        let shown = self.shown.frames.last().map(|frame| frame.pid);
        let first = self.programs.iter().find(|(_, program)| !program.is_leaving).map(|(pid, _)| *pid);
        shown.or(first).ok_or_else(|| Refusal::new("no program is debugged"))
    }

    pub(super) fn read_memory(&mut self, fields: &ReadFields) -> Answered {
        let pid = self.memory_of()?;
        let address = number_of(&fields.memory_reference)?.wrapping_add_signed(fields.offset);
        let mut bytes = vec![0; fields.count.min(MOST_BYTES) as usize];
        // No byte can be read where the first one cannot.
        let read = self.session.read_memory(pid, Address(address), &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        let unreadable = fields.count - read as u64;
        let mut body = json!({ "address": format!("{address:#x}"), "unreadableBytes": unreadable });
        if read > 0 {
            body["data"] = json!(STANDARD.encode(&bytes));
        }
        Ok(body)
    }

    pub(super) fn write_memory(&mut self, fields: &WriteFields) -> Answered {
        let pid = self.memory_of()?;
        let address = number_of(&fields.memory_reference)?.wrapping_add_signed(fields.offset);
        let bytes = STANDARD.decode(&fields.data).map_err(|error| Refusal::new(format!("the data: {error}")))?;
        self.session.write_memory(pid, Address(address), &bytes)?;
        Ok(json!({ "bytesWritten": bytes.len() }))
    }

    pub(super) fn disassemble(&mut self, fields: &DisassembleFields) -> Answered {
        let pid = self.memory_of()?;
        let address = number_of(&fields.memory_reference)?.wrapping_add_signed(fields.offset);
        let count = fields.instruction_count.min(MOST_INSTRUCTIONS);
        let module = self.programs.get(&pid).and_then(|program| program.space.module(address)).cloned();
        let Some(module) = module else { return Err(Refusal::new(format!("no code is at {address:#x}"))) };
        let starts = starts(&module, address, fields.instruction_offset, count);
        let mut disassembler = Disassembler::new();
        let mut last = None;
        let mut all = Vec::new();
        for start in starts {
            all.push(match start {
                Some(start) => self.instruction_text(pid, &module, start, &mut disassembler, &mut last),
                None => json!({ "address": "0x0", "instruction": "??", "presentationHint": "invalid" }),
            });
        }
        Ok(json!({ "instructions": all }))
    }

    fn instruction_text(
        &self,
        pid: Pid,
        module: &Module,
        start: u64,
        disassembler: &mut Disassembler,
        last: &mut Option<(String, u32)>,
    ) -> Value {
        let mut bytes = [0; 15];
        let read = self.session.read_memory(pid, Address(start), &mut bytes).unwrap_or(0);
        let bytes = bytes.get(..read).unwrap_or_default();
        let mode = mode(module);
        let len = code::decode(bytes, start, mode).map_or(1, |insn| insn.len);
        let bytes = bytes.get(..len).unwrap_or_default();
        let text = match mode {
            code::Mode::X86(mode) => disassembler.text(bytes, start, mode),
            code::Mode::Arm64 => <[u8; 4]>::try_from(bytes).ok().and_then(|word| arm64_text(u32::from_le_bytes(word))),
        };
        let mut body = json!({
            "address": format!("{start:#x}"),
            "instructionBytes": hex::spaced(bytes),
            "instruction": text.unwrap_or_else(|| "??".into()),
        });
        let place = module.describe(start, start);
        if let Some(function) = place.function().filter(|_| place.offset == 0) {
            body["symbol"] = json!(function);
        }
        // The source file is told where it changes.
        if let Some((path, line)) = place.line {
            body["line"] = json!(line);
            if last.as_ref().is_none_or(|(known, _)| *known != path) {
                body["location"] = source(&path);
            }
            *last = Some((path, line));
        }
        body
    }
}

/// The addresses in memory of `count` instructions, of which the one with the number `offset` from the one at `address` is the first. `None`:
/// no instruction is known there.
fn starts(module: &Module, address: u64, offset: i64, count: usize) -> Vec<Option<u64>> {
    let all = module.image.instructions(|image| image.arch().mode(code::vendor()));
    let at = all.partition_point(|start| *start < module.in_file(address)) as i64;
    let of = |number: i64| {
        let index = usize::try_from(at.checked_add(offset)?.checked_add(number)?).ok()?;
        all.get(index).map(|start| module.in_memory(*start))
    };
    (0..count as i64).map(of).collect()
}
