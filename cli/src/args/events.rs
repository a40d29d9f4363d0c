//! The events of `ntrace trace` beside hits.

use crate::location::Watch;
use crate::syscalls::{self, Chosen};
use std::path::PathBuf;

use clap::Args;

/// Which events are printed beside hits.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EventArgs {
    /// Print events beside hits, without -b events alone: syscalls, or syscalls=NAME,... for some of them; signals; lives (of processes and
    /// threads); maps (of files with code). Separated by commas. Over ptrace
    #[arg(long, value_name = "EVENT,...", value_parser = Events::parse)]
    pub(crate) events: Option<Events>,

    /// Print each access of memory, by debug registers: of a variable, symbol+offset or address, with a length in bytes (that of the
    /// variable, else 8) and w (writes), rw (reads and writes) or x (execution). May be repeated. Over ptrace
    #[arg(long = "watch", value_name = "WHAT[:LENGTH][:w|rw|x]", value_parser = Watch::parse)]
    pub(crate) watches: Vec<Watch>,

    /// Carry out the rules of a file (TOML, see docs/rules.md): what they record is printed, and their aggregates at the end. Over ptrace
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Events {
    pub(crate) syscalls: Chosen,
    /// Signals that are about to be delivered.
    pub(crate) signals: bool,
    /// Begin and end of processes and threads, and programs that processes execute.
    pub(crate) lives: bool,
    /// Files whose code is mapped or unmapped.
    pub(crate) maps: bool,
}

impl Events {
    /// No event.
    pub(crate) const NONE: Events = Events { syscalls: Chosen::NONE, signals: false, lives: false, maps: false };

    /// Parses the argument of `--events`.
    ///
    /// A word behind `syscalls=` that names no kind of events names a system call, since both lists are separated by commas.
    fn parse(text: &str) -> Result<Events, String> {
        let mut events = Events::NONE;
        let mut in_calls = false;
        for word in text.split(',').map(str::trim) {
            let call = match word {
                "syscalls" => {
                    (events.syscalls, in_calls) = (Chosen::ALL, false);
                    continue;
                }
                "signals" => {
                    events.signals = true;
                    continue;
                }
                "lives" => {
                    events.lives = true;
                    continue;
                }
                "maps" => {
                    events.maps = true;
                    continue;
                }
                word => word.strip_prefix("syscalls=").or(in_calls.then_some(word)),
            };
            let call =
                call.ok_or_else(|| format!("no such event: '{word}'; there are syscalls, signals, lives, maps"))?;
            in_calls = true;
            events.syscalls = with_call(events.syscalls, call)?;
        }
        Ok(events)
    }

    /// Whether there are no events.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Events::NONE
    }
}

/// Adds the system calls that a word means: those of a name, or a number.
fn with_call(chosen: Chosen, word: &str) -> Result<Chosen, String> {
    match (chosen.with_name(word), word.parse::<u64>()) {
        (Some(chosen), _) => Ok(chosen),
        (None, Ok(number)) if number < syscalls::END => Ok(chosen.with_number(number)),
        (None, Ok(number)) => Err(format!("no such system call: {number}; their numbers are below {}", syscalls::END)),
        (None, Err(_)) => {
            let likeness = |name: &'static str| (strsim::damerau_levenshtein(name, word), name);
            let (_, near) = syscalls::names().map(likeness).min().unwrap_or_default();
            Err(format!("no such system call: '{word}'; similar: {near}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> Chosen {
        names.iter().fold(Chosen::NONE, |chosen, name| chosen.with_name(name).unwrap())
    }

    #[test]
    fn commas_separate_events_and_system_calls() {
        let parse = |text| Events::parse(text).unwrap();
        assert_eq!(parse("syscalls"), Events { syscalls: Chosen::ALL, ..Events::NONE });
        assert_eq!(parse("maps,signals"), Events { maps: true, signals: true, ..Events::NONE });
        let expected = Events { syscalls: chosen(&["openat", "read"]), lives: true, ..Events::NONE };
        assert_eq!(parse("syscalls=openat,read,lives"), expected);
        assert_eq!(parse("lives, syscalls=openat, read"), expected);
        assert_eq!(parse("lives,syscalls=openat,syscalls=read"), expected);
        assert_eq!(parse("syscalls=1").syscalls, Chosen::NONE.with_number(1));
    }

    #[test]
    fn what_is_no_event_is_named_with_what_is_near() {
        let error = |text| Events::parse(text).unwrap_err();
        assert!(error("signal").contains("'signal'"));
        assert!(error("read").contains("no such event"));
        assert!(error("syscalls=opennat").ends_with("similar: openat"), "{}", error("syscalls=opennat"));
        assert!(error("syscalls=5000").contains("below 1024"));
        assert!(error("syscalls=").contains("''") && error("").contains("''"));
    }
}
