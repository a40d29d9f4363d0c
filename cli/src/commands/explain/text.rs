//! Writes an answer as text.

use super::answer::{Answer, MemoryAnswer, data};
use crate::failure::Result;
use crate::hex;
use crate::output::Output;

/// Writes the whole answer, in several lines.
pub(crate) fn write_long(answer: &Answer, out: &mut Output<'_>) -> Result<()> {
    if let Some(error) = &answer.error {
        out.line(format_args!("{:#x}: {}", answer.at, hex::spaced(&answer.bytes)))?;
        return row(out, "invalid", error);
    }
    out.line(format_args!("{:#x}: {:<30} {}", answer.at, hex::spaced(&answer.bytes), title(answer)))?;
    row(out, "length", &answer.length.unwrap_or_default().to_string())?;
    row(out, "fields", &fields(answer))?;
    row(out, "flow", &flow(answer))?;
    if let Some(memory) = &answer.memory {
        row(out, "memory", &operand(memory))?;
    }
    for memory in answer.implicit_memory.iter().flatten() {
        row(out, "implied", &operand(memory))?;
    }
    row(out, "reads", &names(answer.reads.as_deref()))?;
    row(out, "writes", &names(answer.writes.as_deref()))?;
    row(out, "flags", &flags(answer))?;
    row(out, "plan", &plan(answer))?;
    if let Some(scratch) = &answer.scratch {
        row(out, "scratch", scratch)?;
    }
    for line in answer.slot_text.iter().flatten() {
        row(out, "", line)?;
    }
    if let Some(reason) = &answer.no_jump {
        return row(out, "jump", &format!("none: {reason}"));
    }
    for (number, line) in answer.jump_text.iter().flatten().enumerate() {
        row(out, if number == 0 { "jump" } else { "" }, line)?;
    }
    Ok(())
}

/// Writes a summary in one line.
pub(crate) fn write_short(answer: &Answer, out: &mut Output<'_>) -> Result<()> {
    if let Some(error) = &answer.error {
        return out.line(format_args!("{}  invalid: {error}", answer.hex));
    }
    let bytes = hex::spaced(&answer.bytes);
    out.line(format_args!("{bytes:<30} {:<40} {}; {}", title(answer), flow(answer), plan(answer)))
}

fn row(out: &mut Output<'_>, name: &str, value: &str) -> Result<()> {
    out.line(format_args!("  {name:<12} {value}"))
}

fn title(answer: &Answer) -> String {
    answer.text.clone().unwrap_or_else(|| data(&answer.bytes))
}

fn fields(answer: &Answer) -> String {
    let one = |part: &super::fields::Part| match part.value {
        Some(value) => format!("{} {} ({})", part.name, part.bytes, signed(value)),
        None => format!("{} {}", part.name, part.bytes),
    };
    let parts: Vec<String> = answer.fields.iter().flatten().map(one).collect();
    format!("{} · {}", answer.encoding.unwrap_or_default(), parts.join(" · "))
}

fn flow(answer: &Answer) -> String {
    let name = answer.flow.unwrap_or_default().replace('_', " ");
    match &answer.target {
        Some(target) => format!("{name} to {target}"),
        None => name,
    }
}

fn operand(memory: &MemoryAnswer) -> String {
    let access = match memory.access {
        "none" => "names",
        "read" => "reads",
        "write" => "writes",
        _ => "reads and writes",
    };
    let size = match memory.size {
        0 => String::new(),
        1 => " 1 byte at".into(),
        size => format!(" {size} bytes at"),
    };
    let index = memory.index.as_ref().map(|index| match memory.scale {
        1 => index.clone(),
        scale => format!("{index}*{scale}"),
    });
    let mut terms: Vec<String> = memory.base.iter().cloned().chain(index).collect();
    if memory.displacement != 0 || terms.is_empty() {
        terms.push(signed(memory.displacement));
    }
    let sum = terms.join("+").replace("+-", "-");
    let address = memory.address.as_ref().map(|address| format!(" = {address}")).unwrap_or_default();
    format!("{access}{size} {}:[{sum}]{address}", memory.segment)
}

fn names(names: Option<&[String]>) -> String {
    match names {
        None | Some([]) => "-".into(),
        Some(names) => names.join(" "),
    }
}

fn flags(answer: &Answer) -> String {
    let list = |flags: &Option<Vec<&str>>| match flags.as_deref() {
        None | Some([]) => "none".to_string(),
        Some(flags) => flags.join(" "),
    };
    format!("reads {}; writes {}", list(&answer.flags_read), list(&answer.flags_written))
}

fn plan(answer: &Answer) -> String {
    way(answer.plan.unwrap_or_default(), answer.reason.as_deref(), answer.exit)
}

/// Returns a plan in words: its name with the reason of a refusal or the exit of a slot.
pub(super) fn way(plan: &str, reason: Option<&str>, exit: Option<&str>) -> String {
    match (reason, exit) {
        (Some(reason), _) => format!("{plan}: {reason}"),
        (None, Some("jump")) => format!("{plan}, boosted"),
        (None, Some("trap")) => format!("{plan}, a trap after the copy"),
        (None, Some("step")) => format!("{plan}, single step"),
        (None, Some("step_then_return_address")) => {
            format!("{plan}, single step, then the return address is corrected")
        }
        _ => plan.to_string(),
    }
}

fn signed(value: i64) -> String {
    if value < 0 { format!("-{:#x}", value.unsigned_abs()) } else { format!("{value:#x}") }
}
