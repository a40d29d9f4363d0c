//! Rules.

use ubp::rules::{Filter, Kind, Limits, On, Place, Rule};

use super::{action, filter};
use crate::item::{Item, Wrong};
use crate::location::Location;
use crate::syscalls::Chosen;

/// The keys of a rule.
const KEYS: [&str; 14] = [
    "name", "group", "event", "at", "syscalls", "when", "skip", "every", "most", "rate", "do", "priority", "pass",
    "armed",
];

/// Reads a rule, with the location of its breakpoint.
pub(super) fn read(number: usize, item: &Item<'_>) -> Result<(Rule, Option<Location>), Wrong> {
    item.only(&KEYS)?;
    let text = |key: &str, or: String| item.get(key)?.map_or(Ok(or), |item| item.text().map(str::to_string));
    let flag = |key: &str, or| item.get(key)?.map_or(Ok(or), |item| item.boolean());
    let (on, location) = event(item)?;
    let actions = item.list("do")?.iter().map(action::read).collect::<Result<_, _>>()?;
    let rule = Rule {
        name: text("name", format!("rule {number}"))?,
        group: text("group", "all".into())?,
        on,
        filter: item.get("when")?.map_or(Ok(Filter::ALWAYS), |item| filter::read(&item))?,
        limits: limits(item)?,
        actions,
        priority: item.get("priority")?.map_or(Ok(0), |item| item.number())?,
        pass: flag("pass", false)?,
        armed: flag("armed", true)?,
    };
    Ok((rule, location))
}

fn event(item: &Item<'_>) -> Result<(On, Option<Location>), Wrong> {
    let event = item.required("event")?;
    let name = event.text()?;
    let kind = Kind::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Kind::all().map(Kind::name).collect();
        event.wrong(format!("no such event: '{name}'; there are {}", names.join(", ")))
    })?;
    let (at, calls) = (item.get("at")?, item.get("syscalls")?);
    match (kind, at, calls) {
        (Kind::Breakpoint, Some(at), None) => {
            let location = Location::parse(at.text()?).map_err(|error| at.wrong(error))?;
            Ok((On::Breakpoint(Place::Named(location.text.clone())), Some(location)))
        }
        (Kind::Breakpoint, None, _) => Err(item.wrong("'at' is missing: the location of the breakpoint")),
        (Kind::SyscallEntered | Kind::SyscallReturned, None, Some(calls)) => {
            let mut chosen = Chosen::NONE;
            for call in calls.values()? {
                let name = call.text()?;
                let more = chosen.with_name(name);
                chosen = more.ok_or_else(|| call.wrong(format!("no such system call: '{name}'")))?;
            }
            let (arch, numbers) = chosen.of_machine();
            let on = match kind {
                Kind::SyscallEntered => On::SyscallEntered(arch, numbers),
                _ => On::SyscallReturned(arch, numbers),
            };
            Ok((on, None))
        }
        (_, Some(at), _) => Err(at.wrong("only a breakpoint has a location")),
        (_, _, Some(calls)) => Err(calls.wrong("only events of system calls have a list of them")),
        (kind, None, None) => Ok((On::Kind(kind), None)),
    }
}

fn limits(item: &Item<'_>) -> Result<Limits, Wrong> {
    let number = |key: &str| item.get(key)?.map(|item| item.number::<u64>()).transpose();
    let rate = match item.get("rate")? {
        None => None,
        Some(item) => {
            item.only(&["most", "within"])?;
            let within = item.required("within")?;
            let text = within.text()?;
            let time = humantime::parse_duration(text).map_err(|error| within.wrong(format!("'{text}': {error}")))?;
            Some((item.required("most")?.number()?, time))
        }
    };
    Ok(Limits { skip: number("skip")?.unwrap_or(0), every: number("every")?.unwrap_or(1), most: number("most")?, rate })
}
