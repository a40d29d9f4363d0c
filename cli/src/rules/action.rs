//! Actions: a word, or a table with one key.

use ubp::rules::{ACTIONS, Action, Payload};
use ubp::{Access, Signal};

use super::value::value;
use crate::item::{Item, Wrong};

pub(super) fn read(item: &Item<'_>) -> Result<Action, Wrong> {
    let unknown = |name: &str| {
        let names = ACTIONS.map(|(name, _)| name).join(", ");
        item.wrong(format!("no such action: '{name}', or it lacks its table; there are {names}"))
    };
    if !item.is_table() {
        return match item.text()? {
            "record" => Ok(Action::Record(Payload { arguments: 6, ..Payload::default() })),
            "hold" => Ok(Action::Hold),
            "detach" => Ok(Action::Detach),
            "wake" => Ok(Action::Wake),
            other => Err(unknown(other)),
        };
    }
    let (key, content) = item.single()?;
    let text = || content.text().map(str::to_string);
    Ok(match key {
        "record" => Action::Record(payload(&content)?),
        "aggregate" => Action::Aggregate(text()?),
        "resume" => Action::Resume(text()?),
        "insert" => Action::Insert(text()?),
        "remove" => Action::Remove(text()?),
        "move" => Action::Move(text()?),
        "signal" => Action::Signal(signal(&content)?),
        "watch" => watch(&content)?,
        other => return Err(unknown(other)),
    })
}

fn payload(item: &Item<'_>) -> Result<Payload, Wrong> {
    item.only(&["arguments", "registers", "stack", "memory"])?;
    let mut memory = Vec::new();
    for part in item.list("memory")? {
        part.only(&["at", "length"])?;
        let at = part.required("at")?;
        let text = at.text()?;
        let address = value(text).ok_or_else(|| at.wrong(format!("no such value: '{text}'")))?;
        memory.push((address, part.required("length")?.number()?));
    }
    Ok(Payload {
        registers: item.get("registers")?.map_or(Ok(false), |item| item.boolean())?,
        arguments: item.get("arguments")?.map_or(Ok(0), |item| item.number())?,
        stack: item.get("stack")?.map_or(Ok(0), |item| item.number())?,
        memory,
    })
}

fn signal(item: &Item<'_>) -> Result<Signal, Wrong> {
    let text = item.text()?;
    let known = (1..=64).map(Signal).find(|signal| signal.to_string() == text);
    known.ok_or_else(|| item.wrong(format!("no such signal: '{text}'")))
}

fn watch(item: &Item<'_>) -> Result<Action, Wrong> {
    item.only(&["at", "length", "access"])?;
    let at = item.required("at")?;
    let text = at.text()?;
    let address = value(text).ok_or_else(|| at.wrong(format!("no such value: '{text}'")))?;
    let access = match item.get("access")? {
        None => Access::Write,
        Some(item) => match item.text()? {
            "w" => Access::Write,
            "rw" => Access::ReadWrite,
            "x" => Access::Execute,
            other => return Err(item.wrong(format!("no such access: '{other}'; there are w, rw, x"))),
        },
    };
    Ok(Action::Watch { address, length: item.get("length")?.map_or(Ok(8), |item| item.number())?, access })
}
