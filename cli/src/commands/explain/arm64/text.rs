//! Writes an answer about an A64 instruction as text.

use super::answer::Answer;
use crate::disassembly::word_directive;
use crate::failure::Result;
use crate::output::Output;

fn title(answer: &Answer) -> String {
    answer.text.clone().unwrap_or_else(|| word_directive(&answer.hex))
}

fn flow(answer: &Answer) -> String {
    let flow = answer.flow.as_deref().unwrap_or_default().replace('_', " ");
    match &answer.target {
        Some(target) => format!("{flow} to {target}"),
        None => flow,
    }
}

/// Writes the whole answer, in several lines.
pub(super) fn write_long(answer: &Answer, out: &mut Output<'_>) -> Result<()> {
    if let Some(error) = &answer.error {
        out.line(format_args!("{:#x}: {}", answer.at, answer.hex))?;
        return out.line(format_args!("  invalid      {error}"));
    }
    out.line(format_args!("{:#x}: {:<30} {}", answer.at, answer.hex, title(answer)))?;
    let mut row = |name: &str, value: &str| match value {
        "" => Ok(()),
        value => out.line(format_args!("  {name:<12} {value}")),
    };
    let names = |names: &Option<Vec<String>>| names.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    let flags = |names: &Option<Vec<&str>>| match names.iter().flatten().copied().collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => "none".to_owned(),
        names => names,
    };
    row("flow", &flow(answer))?;
    row("kind", &answer.kind.as_deref().unwrap_or_default().replace('_', " "))?;
    row("landing pad", answer.landing_pad.as_deref().unwrap_or_default())?;
    row("exclusive", answer.exclusive.as_deref().unwrap_or_default())?;
    for memory in answer.memory.iter().flatten() {
        row("memory", memory)?;
    }
    row("reads", &names(&answer.reads))?;
    row("writes", &names(&answer.writes))?;
    row("flags", &format!("reads {}; writes {}", flags(&answer.flags_read), flags(&answer.flags_written)))?;
    if answer.unpredictable == Some(true) {
        row("unpredictable", "the processor chooses what it does")?;
    }
    row("plan", &answer.plan.in_words())?;
    answer.plan.rows().try_for_each(|(name, value)| row(name, value))
}

/// Writes a summary in one line.
pub(super) fn write_short(answer: &Answer, out: &mut Output<'_>) -> Result<()> {
    match &answer.error {
        Some(error) => out.line(format_args!("{}  invalid: {error}", answer.hex)),
        None => {
            out.line(format_args!("{} {:<50} {}; {}", answer.hex, title(answer), flow(answer), answer.plan.in_words()))
        }
    }
}
