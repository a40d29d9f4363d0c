//! Groups.

use ubp::rules::{Glob, Group, Members};
use ubp::{Pid, Tid};

use crate::item::{Item, Wrong};

pub(super) fn read(name: &str, item: &Item<'_>) -> Result<Group, Wrong> {
    let (key, value) = item.single()?;
    let numbers = |item: &Item<'_>| item.values()?.iter().map(Item::number::<i32>).collect::<Result<Vec<_>, _>>();
    let members = match key {
        "executable" => Members::Executable(Glob::new(value.text()?)),
        "processes" => Members::Processes(numbers(&value)?.into_iter().map(Pid).collect()),
        "families" => Members::Families(numbers(&value)?.into_iter().map(Pid).collect()),
        "threads" => Members::Threads(numbers(&value)?.into_iter().map(Tid).collect()),
        "all" if value.boolean()? => Members::All,
        "all" => Members::Nobody,
        other => {
            return Err(item.wrong(format!(
                "no such members: '{other}'; there are all, executable, processes, families, threads"
            )));
        }
    };
    Ok(Group { name: name.into(), members })
}
