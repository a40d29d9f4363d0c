//! What the word at the cursor of a command line stands for, and whom the command line names.

use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;

/// What the word at the cursor may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Location,
    Process,
    /// The name of a running program.
    Name,
    /// The path of the file of a running program.
    Executable,
}

/// A question of a shell: which values the word at the cursor can become.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) kind: Kind,
    /// The part of the word that belongs to the option: `--break=`, `-b`.
    pub(super) prefix: String,
    /// The part of the word that begins the value.
    pub(super) text: String,
    pub(super) whom: Whom,
}

/// Whom a command line names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Whom {
    /// The program to start.
    pub(super) program: Option<String>,
    pub(super) processes: Vec<i32>,
    pub(super) names: Vec<String>,
    pub(super) executables: Vec<String>,
    /// The files of `ntrace list`.
    pub(super) files: Vec<PathBuf>,
}

/// The kind of an argument's values, by the name that its declaration gives them.
fn kind(argument: &Arg) -> Option<Kind> {
    let name = argument.get_value_names()?.first()?;
    match (name.as_str(), argument.get_long()) {
        ("LOCATION", _) => Some(Kind::Location),
        ("PID", _) => Some(Kind::Process),
        ("NAME", Some("name")) => Some(Kind::Name),
        ("GLOB", Some("exec")) => Some(Kind::Executable),
        _ => None,
    }
}

/// The options of all subcommands whose values are looked for: the subcommand, the short and the long name.
pub(crate) fn options() -> Vec<(String, Option<char>, Option<String>)> {
    let command = Cli::command();
    let of = |command: &Command| {
        let name = command.get_name().to_string();
        let all = command.get_arguments().filter(|argument| !argument.is_positional() && kind(argument).is_some());
        all.map(|argument| (name.clone(), argument.get_short(), argument.get_long().map(str::to_string)))
            .collect::<Vec<_>>()
    };
    command.get_subcommands().flat_map(of).collect()
}

/// Whether the command line has a value of its own for the argument.
fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

/// Whether more than one word may follow the argument's name.
fn takes_several(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|range| range.max_values() > 1)
}

/// An option of a word: its declaration, the part of the word that names it, and the value in the same word.
type Named<'a, 'b> = (&'a Arg, &'b str, Option<&'b str>);

fn option<'a, 'b>(command: &'a Command, word: &'b str) -> Option<Named<'a, 'b>> {
    let find = |is: &dyn Fn(&Arg) -> bool| command.get_arguments().find(|argument| is(argument));
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let argument = find(&|argument| argument.get_long() == Some(name))?;
        let length = value.map_or(word.len(), |value| word.len() - value.len());
        return Some((argument, &word[..length], value));
    }
    let short = word.strip_prefix('-')?.chars().next()?;
    let argument = find(&|argument| argument.get_short() == Some(short))?;
    let (name, value) = word.split_at(1 + short.len_utf8());
    Some((argument, name, Some(value).filter(|value| !value.is_empty())))
}

impl Asked {
    /// The question at the word `at` of a command line, whose first word is `ntrace`. `None`: the script's own declarations have the answer, as for
    /// the name of an option.
    pub(super) fn of(words: &[String], at: usize) -> Option<Asked> {
        let root = Cli::command();
        let mut command = &root;
        let (mut whom, mut found) = (Whom::default(), None);
        // The option before, whose value comes, and whether it may have more.
        let mut open: Option<&Arg> = None;
        for (number, word) in words.iter().enumerate().skip(1) {
            if word == "--" && number != at {
                // The rest is the program's.
                let program = words.get(number + 1).filter(|program| number + 1 != at && !program.is_empty());
                whom.program = program.cloned();
                break;
            }
            let is_option = word.starts_with('-') && word.len() > 1;
            let (argument, prefix, value) = match (is_option, open) {
                (true, _) => match option(command, word) {
                    Some((argument, name, value)) => {
                        open = Some(argument).filter(|argument| takes_value(argument) && value.is_none());
                        (Some(argument), name, value)
                    }
                    None => {
                        open = None;
                        continue;
                    }
                },
                (false, Some(argument)) => {
                    open = open.filter(|argument| takes_several(argument));
                    (Some(argument), "", Some(&**word))
                }
                (false, None) => match command.find_subcommand(word).filter(|_| number != at) {
                    Some(found) => {
                        command = found;
                        continue;
                    }
                    None => (command.get_positionals().find(|argument| !argument.is_last_set()), "", Some(&**word)),
                },
            };
            let (Some(argument), Some(value)) = (argument, value) else { continue };
            if number == at {
                found = kind(argument).map(|kind| (kind, prefix.to_string(), value.to_string()));
            } else {
                whom.note(argument, value);
            }
        }
        let (kind, prefix, text) = found?;
        Some(Asked { kind, prefix, text, whom })
    }
}

impl Whom {
    /// Notes the value of an argument.
    fn note(&mut self, argument: &Arg, value: &str) {
        match kind(argument) {
            Some(Kind::Process) => self.processes.extend(value.parse::<i32>()),
            Some(Kind::Name) => self.names.push(value.into()),
            Some(Kind::Executable) => self.executables.push(value.into()),
            Some(Kind::Location) => {}
            None if argument.get_long() == Some("file") => self.files.push(value.into()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The question at the word that ends with `|`.
    fn asked(line: &str) -> Option<Asked> {
        let words: Vec<String> = line.split(' ').map(|word| word.replace('|', "")).collect();
        Asked::of(&words, line.split(' ').position(|word| word.ends_with('|')).unwrap())
    }

    #[test]
    fn a_location_is_asked_for_behind_each_option_that_takes_one() {
        for (line, prefix, text) in [
            ("ntrace count -b mal| -- ls", "", "mal"),
            ("ntrace count -b main mal| -- ls", "", "mal"),
            ("ntrace count --break=mal| -- ls", "--break=", "mal"),
            ("ntrace trace --args -bmal|", "-b", "mal"),
            ("ntrace --color never trace -b libc!| -- ls", "", "libc!"),
            ("ntrace latency -b a --to |", "", ""),
            ("ntrace list ma|", "", "ma"),
            ("ntrace record -o x --after ma| -- ls", "", "ma"),
        ] {
            let asked = asked(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((asked.kind, &*asked.prefix, &*asked.text), (Kind::Location, prefix, text), "{line}");
        }
    }

    #[test]
    fn what_the_declarations_tell_is_not_asked_for() {
        for line in [
            "ntrace co|",
            "ntrace count --fo|",
            "ntrace count --format |",
            "ntrace count -b main -- l|",
            "ntrace count -b main -- ls -b ma|",
            "ntrace record -o ma|",
        ] {
            assert_eq!(asked(line), None, "{line}");
        }
    }

    #[test]
    fn the_program_and_the_processes_are_those_of_the_whole_line() {
        let whom = |line| asked(line).unwrap().whom;
        assert_eq!(whom("ntrace count -b m| -- ./prog -p 7").program.as_deref(), Some("./prog"));
        assert_eq!(whom("ntrace count -b m| --name x").names, ["x"]);
        assert_eq!(whom("ntrace trace -p 12 --pid=13 -p14 -b m|").processes, [12, 13, 14]);
        assert_eq!(whom("ntrace list m| -f a.out").files, [PathBuf::from("a.out")]);
        assert_eq!(asked("ntrace top -b main -p |").unwrap().kind, Kind::Process);
    }
}
