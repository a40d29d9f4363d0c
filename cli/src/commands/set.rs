//! `ntrace run`: a command whose arguments a file keeps. A key of a set is a long option of the command.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, CommandFactory, Parser};

use crate::args::{Cli, RunArgs};
use crate::failure::Result;
use crate::item::{self, Item, Wrong};

/// The commands that a set may have.
const COMMANDS: [&str; 6] = ["trace", "count", "latency", "calls", "coverage", "top"];
/// The key of the locations, whose option is called otherwise.
const LOCATIONS: (&str, &str) = ("locations", "break");
/// The keys that name the traced program or the traced processes.
const WHOM: [&str; 6] = ["program", "pid", "name", "exec", "container", "follow"];

/// The options of a set with their values.
type Places<'a> = Vec<(&'a str, Item<'a>)>;

/// Reads the command that a set of a file stands for.
///
/// # Errors
/// The file cannot be read, or a set is wrong. The message names line and column.
pub(super) fn read(args: &RunArgs) -> Result<Cli> {
    item::read(&args.file, |text| parse(text, args))
}

fn parse(text: &str, args: &RunArgs) -> Result<Cli, Wrong> {
    let table = item::parse(text)?;
    let root = Item::of_table(&table);
    let sets = root.keys()?;
    let names = || sets.iter().map(|(_, name, _)| *name).collect::<Vec<_>>().join(", ");
    let set = match (&args.name, &sets[..]) {
        (_, []) => return Err(root.wrong("no set of arguments: write [NAME] above the first")),
        (None, [(_, _, set)]) => set,
        (None, _) => return Err(root.wrong(format!("which set? Add one of the names {} behind the file", names()))),
        (Some(wanted), _) => {
            let found = sets.iter().find(|(_, name, _)| name == wanted);
            &found.ok_or_else(|| root.wrong(format!("no set '{wanted}'; there are {}", names())))?.2
        }
    };
    let command = command(set)?;
    let (arguments, keys) = arguments(set, command, args)?;
    Cli::try_parse_from(arguments).map_err(|error| explain(&error, set, &keys))
}

fn command<'a>(set: &Item<'a>) -> Result<&'a str, Wrong> {
    let item = set.required("command")?;
    let name = item.text()?;
    match COMMANDS.contains(&name) {
        true => Ok(name),
        false => Err(item.wrong(format!("no such command: '{name}'; there are {}", COMMANDS.join(", ")))),
    }
}

/// The command line of a set, and the places of its options.
fn arguments<'a>(set: &Item<'a>, command: &'a str, args: &RunArgs) -> Result<(Vec<OsString>, Places<'a>), Wrong> {
    let declared = Cli::command();
    let declared = declared.find_subcommand(command);
    let find = |option: &str| {
        let mut all = declared.into_iter().flat_map(|command| command.get_arguments());
        all.find(|argument| argument.get_long() == Some(option) && !argument.is_hide_set())
    };
    let is_whom_given = !args.program.is_empty() || !args.pids.is_empty();
    let (mut line, mut keys): (Vec<OsString>, _) = (vec!["ntrace".into(), command.into()], Vec::new());
    let mut program = args.program.clone();
    for (key, name, value) in set.keys()? {
        let is_replaced = (is_whom_given && WHOM.contains(&name)) || (args.output.is_some() && name == "output");
        if name == "command" || is_replaced {
            continue;
        }
        if name == "program" {
            program = value.values()?.iter().map(|part| part.text().map(OsString::from)).collect::<Result<_, _>>()?;
            continue;
        }
        let option = if name == LOCATIONS.0 { LOCATIONS.1 } else { name };
        let known = find(option).filter(|_| name != LOCATIONS.1);
        let known = known.ok_or_else(|| key.wrong(unknown(name, command, &declared)))?;
        match known.get_action() {
            ArgAction::SetTrue if value.boolean()? => line.push(format!("--{option}").into()),
            ArgAction::SetTrue => {}
            ArgAction::Append if value.is_list() => {
                for part in value.values()? {
                    line.push(format!("--{option}={}", word(&part)?).into());
                }
            }
            _ => line.push(format!("--{option}={}", word(&value)?).into()),
        }
        keys.push((option, value));
    }
    line.extend(args.pids.iter().map(|pid| format!("--pid={pid}").into()));
    if let Some(output) = &args.output {
        line.extend(["--output".into(), output.into()]);
    }
    if !program.is_empty() {
        line.push("--".into());
        line.append(&mut program);
    }
    Ok((line, keys))
}

/// A text or a number, as a word of a command line.
fn word(item: &Item<'_>) -> Result<String, Wrong> {
    match item.number::<i128>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) => item.text().map(str::to_string).map_err(|_| item.wrong("a text or a number is expected")),
    }
}

fn unknown(name: &str, command: &str, declared: &Option<&clap::Command>) -> String {
    let options = declared.iter().flat_map(|command| command.get_arguments());
    let mut known: Vec<&str> = options.filter(|option| !option.is_hide_set()).filter_map(|o| o.get_long()).collect();
    known.retain(|option| *option != LOCATIONS.1);
    known.extend([LOCATIONS.0, WHOM[0]]);
    let near = known.iter().min_by_key(|option| strsim::damerau_levenshtein(option, name));
    let near = near.map(|near| format!(": did you mean '{near}'?")).unwrap_or_default();
    format!("'{name}' is no option of ntrace {command}{near}")
}

/// An error of the command line, at the place of the option that caused it.
fn explain(error: &clap::Error, set: &Item<'_>, keys: &[(&str, Item<'_>)]) -> Wrong {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let message = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_string();
    let culprit = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(culprit)) => culprit.as_str(),
        Some(ContextValue::Strings(culprits)) => culprits.first().map_or("", String::as_str),
        _ => "",
    };
    let option = culprit.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default();
    let place = keys.iter().find(|(key, _)| *key == option).map_or(set, |(_, value)| value);
    place.wrong(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    fn read(text: &str, name: Option<&str>) -> Result<Cli, String> {
        let (file, name) = ("sets.toml".into(), name.map(String::from));
        let args = RunArgs { file, name, pids: Vec::new(), output: None, program: Vec::new() };
        parse(text, &args).map_err(|wrong| wrong.at(text))
    }

    #[test]
    fn a_set_is_a_command_line() {
        let text = "[opens]\ncommand = \"count\"\nlocations = [\"libc!open*\", \"read\"]\nif = \"arg0 > 1\"\n\
                    all = true\nquiet = false\ntop = 7\nprogram = [\"ls\", \"-l\"]\n";
        let cli = read(text, None).unwrap();
        let Command::Count(args) = cli.command else { panic!("{:?}", cli.command) };
        assert_eq!(args.target.locations, ["libc!open*", "read"]);
        assert_eq!((args.target.filter.condition.as_deref(), args.all, args.quiet), (Some("arg0 > 1"), true, false));
        assert_eq!((args.grouping.top, args.target.program), (Some(7), vec!["ls".into(), "-l".into()]));
    }

    #[test]
    fn what_is_wrong_in_a_set_is_named_with_line_and_column() {
        let two = "[a]\ncommand = \"count\"\n[b]\ncommand = \"trace\"\n";
        for (text, name, expected) in [
            (two, None, "1:1: which set? Add one of the names a, b"),
            (two, Some("c"), "1:1: no set 'c'; there are a, b"),
            ("", None, "1:1: no set of arguments"),
            ("[a]\n", None, "1:1: 'command' is missing"),
            ("[a]\ncommand = \"gdbserver\"\n", None, "2:11: no such command: 'gdbserver'"),
            (
                "[a]\ncommand = \"count\"\nlocation = \"x\"\n",
                None,
                "3:1: 'location' is no option of ntrace count: did you mean 'locations'?",
            ),
            ("[a]\ncommand = \"count\"\nall = 3\n", None, "3:7: true or false is expected"),
            ("[a]\ncommand = \"count\"\nif = [1]\n", None, "3:6: a text or a number is expected"),
            ("[a]\ncommand = \"trace\"\nprogram = [\"x\"]\nlimit = 0\n", None, "4:9: invalid value '0' for '--limit"),
            ("[a]\ncommand = \"trace\"\n", None, "1:1: the following required arguments were not provided"),
            ("[a\n", None, "1:"),
        ] {
            let error = read(text, name).map(|cli| format!("{cli:?}")).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error:?} is not {expected:?}");
        }
    }

    #[test]
    fn the_command_line_replaces_what_a_set_says() {
        let text = "[a]\ncommand = \"count\"\nlocations = \"x\"\noutput = \"f\"\nprogram = [\"ls\"]\n";
        let args = RunArgs {
            file: "sets.toml".into(),
            name: None,
            pids: vec![7],
            output: Some("g".into()),
            program: Vec::new(),
        };
        let cli = parse(text, &args).unwrap_or_else(|wrong| panic!("{}", wrong.at(text)));
        let Command::Count(args) = cli.command else { panic!("{:?}", cli.command) };
        assert_eq!((args.target.pids, args.target.program.len()), (vec![7], 0));
        assert_eq!(args.target.output, Some("g".into()));
    }
}
