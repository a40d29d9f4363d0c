//! `ntrace explain --arch arm64`.

mod plan;

use std::io::{self, BufRead};
use std::process::ExitCode;

use insn::arm64::{Address, Extend, Insn, Memory, Nzcv, RegSet, Writeback, decode};
use insn::{Access, Target};
use serde::Serialize;

use super::{hex, slot_address};
use crate::args::ExplainArgs;
use crate::disassembly::arm64_text;
use crate::failure::{Failure, Result};
use crate::output::{Output, utf8};

/// One answer; the names are the keys of the JSON form.
#[derive(Debug, Default, Serialize)]
struct Answer {
    hex: String,
    valid: bool,
    error: Option<String>,
    length: Option<usize>,
    text: Option<String>,
    flow: Option<String>,
    target: Option<String>,
    kind: Option<String>,
    unpredictable: Option<bool>,
    landing_pad: Option<String>,
    exclusive: Option<String>,
    memory: Option<Vec<String>>,
    reads: Option<Vec<String>>,
    writes: Option<Vec<String>>,
    flags_read: Option<Vec<&'static str>>,
    flags_written: Option<Vec<&'static str>>,
    #[serde(flatten)]
    plan: plan::Answer,
    #[serde(skip)]
    at: u64,
}

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let mut out = Output::stdout();
    let mut status = ExitCode::SUCCESS;
    if matches!(args.hex.as_slice(), [dash] if dash == "-") {
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map_err(|error| Failure::own(format!("standard input: {error}")))?;
            let line = utf8(line.strip_suffix(b"\r").unwrap_or(&line));
            let answer = match words(line.trim()).as_deref() {
                Ok([]) => Answer { hex: line.to_string(), error: Some("no bytes".into()), ..Answer::default() },
                Ok([word, ..]) => Answer::of(&[*word], 0, args.at),
                Err(error) => Answer { hex: line.to_string(), error: Some(error.clone()), ..Answer::default() },
            };
            if args.json { out.json(&answer) } else { answer.write_short(&mut out) }?;
        }
    } else {
        let words = words(&args.hex.join(" ")).map_err(Failure::usage)?;
        if words.is_empty() {
            return Err(Failure::usage("HEX holds no bytes"));
        }
        for (index, at) in (0..words.len()).zip((args.at..).step_by(insn::arm64::LEN)) {
            let answer = Answer::of(&words, index, at);
            if args.json { out.json(&answer) } else { answer.write_long(&mut out) }?;
            if !answer.valid {
                status = ExitCode::from(1);
                break;
            }
        }
    }
    out.flush()?;
    Ok(status)
}

/// The words of a text: eight digits are a word, as listings have it; else bytes as they lie in memory.
fn words(text: &str) -> std::result::Result<Vec<u32>, String> {
    let mut bytes = Vec::new();
    for part in text.split([' ', ',', '\t']).filter(|part| !part.is_empty()) {
        let digits = part.strip_prefix("0x").unwrap_or(part);
        match u32::from_str_radix(digits, 16) {
            Ok(word) if digits.len() == 8 => bytes.extend(word.to_le_bytes()),
            _ => bytes.extend(hex::parse(part)?),
        }
    }
    let (words, rest) = bytes.as_chunks::<{ insn::arm64::LEN }>();
    if !rest.is_empty() {
        return Err(format!("{} bytes are not a number of words", bytes.len()));
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// The text of any word.
fn disassembly(word: u32) -> String {
    arm64_text(word).unwrap_or_else(|| data(&format!("{word:08x}")))
}

/// A word as an assembler's data directive.
fn data(hex: &str) -> String {
    format!(".word 0x{hex}")
}

/// A name out of a type's own: `ConditionalJump` is `conditional_jump`.
fn name(value: impl std::fmt::Debug) -> String {
    let mut text = String::new();
    for c in format!("{value:?}").chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

fn registers(set: RegSet) -> Vec<String> {
    set.iter().map(|register| register.to_string()).collect()
}

fn flags(set: Nzcv) -> Vec<&'static str> {
    let all = [(Nzcv::N, "n"), (Nzcv::Z, "z"), (Nzcv::C, "c"), (Nzcv::V, "v")];
    all.into_iter().filter(|(flag, _)| set.contains(*flag)).map(|(_, name)| name).collect()
}

/// `reads 8 bytes at [x0, x1 uxtw << 3]`.
fn operand(memory: &Memory, pc: u64) -> String {
    let access = match memory.access {
        Access::None => "names",
        Access::Read => "reads",
        Access::Write => "writes",
        _ => "reads and writes",
    };
    let size = if memory.size == 0 { String::new() } else { format!(" {} bytes", memory.size) };
    let mut inside = match memory.base {
        Address::Register(base) => base.to_string(),
        Address::Elements(base) => format!("each of {base}"),
        _ => format!("{:#x}", pc.wrapping_add_signed(memory.displacement)),
    };
    if let Some(index) = memory.index {
        inside += &format!(", {index}");
        if memory.extend != Extend::None {
            inside += &format!(" {}", name(memory.extend));
        }
        if memory.shift != 0 {
            inside += &format!(" << {}", memory.shift);
        }
    }
    let counted = if memory.by_vector_length { " operands" } else { "" };
    let displacement = format!("{:+}{counted}", memory.displacement);
    let shown = memory.displacement != 0 && memory.base != Address::Pc;
    match memory.writeback {
        Some(Writeback::Post) => format!("{access}{size} at [{inside}], then {inside} {displacement}"),
        Some(Writeback::Pre) => format!("{access}{size} at [{inside}{displacement}], which is written back"),
        None if shown => format!("{access}{size} at [{inside}{displacement}]"),
        None => format!("{access}{size} at [{inside}]"),
    }
}

impl Answer {
    /// For the word `index` of `code`, which is at the address `at`.
    fn of(code: &[u32], index: usize, at: u64) -> Answer {
        let word = code.get(index).copied().unwrap_or_default();
        let hex = format!("{word:08x}");
        match decode(word) {
            Ok(insn) => Answer { hex, plan: plan::Answer::of(code, index, at), ..Answer::of_insn(&insn, at) },
            Err(error) => Answer { hex, at, error: Some(error.to_string()), ..Answer::default() },
        }
    }
    fn of_insn(insn: &Insn, at: u64) -> Answer {
        let target = match insn.target() {
            Target::Register(register) => Some(register.to_string()),
            _ => insn.target_address(at).map(|address| format!("{address:#x}")),
        };
        let effects = insn.effects();
        let memory: Vec<String> = effects.memories.iter().flatten().map(|memory| operand(memory, at)).collect();
        Answer {
            hex: String::new(),
            valid: true,
            error: None,
            length: Some(insn::arm64::LEN),
            text: arm64_text(insn.word()),
            flow: Some(name(insn.flow())),
            target,
            kind: Some(name(insn.kind())),
            unpredictable: Some(insn.is_unpredictable()),
            landing_pad: insn.landing_pad().map(name),
            exclusive: insn.exclusive().map(name),
            memory: Some(memory),
            reads: Some(registers(effects.reads)),
            writes: Some(registers(effects.writes)),
            flags_read: Some(flags(effects.flags_read)),
            flags_written: Some(flags(effects.flags_written)),
            plan: plan::Answer::default(),
            at,
        }
    }
    fn title(&self) -> String {
        self.text.clone().unwrap_or_else(|| data(&self.hex))
    }
    fn way(&self) -> String {
        let flow = self.flow.as_deref().unwrap_or_default().replace('_', " ");
        match &self.target {
            Some(target) => format!("{flow} to {target}"),
            None => flow,
        }
    }
    /// Writes all of it, over several lines.
    fn write_long(&self, out: &mut Output<'_>) -> Result<()> {
        if let Some(error) = &self.error {
            out.line(format_args!("{:#x}: {}", self.at, self.hex))?;
            return out.line(format_args!("  invalid      {error}"));
        }
        out.line(format_args!("{:#x}: {:<30} {}", self.at, self.hex, self.title()))?;
        let mut row = |name: &str, value: &str| match value {
            "" => Ok(()),
            value => out.line(format_args!("  {name:<12} {value}")),
        };
        let names = |names: &Option<Vec<String>>| names.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
        let flags = |names: &Option<Vec<&str>>| match names.iter().flatten().copied().collect::<Vec<_>>().join(" ") {
            none if none.is_empty() => "none".to_owned(),
            names => names,
        };
        row("flow", &self.way())?;
        row("kind", &self.kind.as_deref().unwrap_or_default().replace('_', " "))?;
        row("landing pad", self.landing_pad.as_deref().unwrap_or_default())?;
        row("exclusive", self.exclusive.as_deref().unwrap_or_default())?;
        for memory in self.memory.iter().flatten() {
            row("memory", memory)?;
        }
        row("reads", &names(&self.reads))?;
        row("writes", &names(&self.writes))?;
        row("flags", &format!("reads {}; writes {}", flags(&self.flags_read), flags(&self.flags_written)))?;
        if self.unpredictable == Some(true) {
            row("unpredictable", "what it does, the processor chooses")?;
        }
        row("plan", &self.plan.way())?;
        self.plan.rows().try_for_each(|(name, value)| row(name, value))
    }
    /// Writes one line.
    fn write_short(&self, out: &mut Output<'_>) -> Result<()> {
        match &self.error {
            Some(error) => out.line(format_args!("{}  invalid: {error}", self.hex)),
            None => out.line(format_args!("{} {:<50} {}; {}", self.hex, self.title(), self.way(), self.plan.way())),
        }
    }
}
