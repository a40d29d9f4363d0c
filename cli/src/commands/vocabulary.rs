//! `ntrace vocabulary`: the events, fields, filters and actions of rules.

use std::process::ExitCode;

use serde::Serialize;
use ubp::Mechanism;
use ubp::rules::{ACTIONS, FILTERS, Field, Kind};

use crate::args::Format;
use crate::failure::Result;
use crate::output::Output;

/// The vocabulary. The field names are the keys of the JSON form.
#[derive(Debug, Serialize)]
struct Vocabulary {
    events: Vec<Event>,
    fields: Vec<Word>,
    filters: Vec<Word>,
    actions: Vec<Word>,
}

#[derive(Debug, Serialize)]
struct Event {
    name: &'static str,
    meaning: &'static str,
    fields: Vec<&'static str>,
    /// Whether `arg0` to `arg5` are known.
    arguments: bool,
    /// Why ptrace does not report the event; `None` if it does.
    ptrace: Option<&'static str>,
    /// Why the module does not report the event; `None` if it does.
    module: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Word {
    name: &'static str,
    meaning: &'static str,
}

/// Prints the vocabulary.
pub(super) fn run(format: Format) -> Result<ExitCode> {
    let event = |kind: Kind| Event {
        name: kind.name(),
        meaning: kind.meaning(),
        fields: kind.fields().iter().map(|field| field.name()).collect(),
        arguments: kind.has_arguments(),
        ptrace: kind.lacking(Mechanism::Ptrace),
        module: kind.lacking(Mechanism::Kernel),
    };
    let word = |(name, meaning)| Word { name, meaning };
    let vocabulary = Vocabulary {
        events: Kind::all().map(event).collect(),
        fields: Field::ALL.into_iter().map(|(_, name, meaning)| word((name, meaning))).collect(),
        filters: FILTERS.into_iter().map(word).collect(),
        actions: ACTIONS.into_iter().map(word).collect(),
    };
    let mut out = Output::stdout();
    match format {
        Format::Json => out.json(&vocabulary)?,
        Format::Text => vocabulary.write_text(&mut out)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl Vocabulary {
    fn write_text(&self, out: &mut Output<'_>) -> Result<()> {
        out.line("events")?;
        for event in &self.events {
            out.line(format_args!("  {:<18} {}", event.name, event.meaning))?;
            let mut values = event.fields.join(", ");
            if event.arguments {
                values += if values.is_empty() { "arg0 to arg5" } else { ", arg0 to arg5" };
            }
            if !values.is_empty() {
                out.line(format_args!("  {:<18}   values: {values}", ""))?;
            }
            for (mechanism, reason) in [("ptrace", event.ptrace), ("module", event.module)] {
                if let Some(reason) = reason {
                    out.line(format_args!("  {:<18}   not over {mechanism}: {reason}", ""))?;
                }
            }
        }
        for (title, words) in [("values", &self.fields), ("filters", &self.filters), ("actions", &self.actions)] {
            out.line(title)?;
            words.iter().try_for_each(|word| out.line(format_args!("  {:<18} {}", word.name, word.meaning)))?;
        }
        Ok(())
    }
}
