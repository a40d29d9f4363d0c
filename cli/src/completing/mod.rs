//! What a shell offers for the word at the cursor: functions of the program, processes. The scripts of `ntrace completions` ask for it.

mod asked;
mod bash;
mod locations;
mod modules;

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap_complete::Shell;

pub(crate) use self::asked::options;
use self::asked::{Asked, Kind, Whom};
use self::bash::Quoting;
use crate::failure::{Failure, Result};
use crate::launch::{Running, running};

/// The milliseconds after which nothing is offered. A shell waits that long at most, whatever the program's size and its file system are.
const PATIENCE: u64 = 700;
/// The variable of the environment with another number of milliseconds.
const VARIABLE: &str = "NTRACE_COMPLETION_MS";

/// Answers a script. For bash `line` has the text before the cursor, the text behind it, and the part before the cursor that readline replaces;
/// for other shells the number of words before that at the cursor, the part of this one before the cursor, and all other words. `None`: the
/// declarations of the command line say what may stand there.
///
/// # Errors
/// `line` is not what the scripts of this version give.
pub(crate) fn answer(shell: Shell, line: &[String]) -> Result<Option<Vec<String>>> {
    let wrong = || Failure::usage("only the scripts of ntrace completions ask for words");
    let (words, at, quoting) = match (shell, line) {
        (Shell::Bash, [before, behind, replaced]) => {
            let line = bash::Line::of(before, behind);
            (line.words, line.at, Some(Quoting { open: line.open, raw: line.raw, replaced: replaced.clone() }))
        }
        (Shell::Bash, _) => return Err(wrong()),
        (_, [number, current, others @ ..]) => {
            let at: usize = number.parse().map_err(|_| wrong())?;
            let (before, behind) = others.split_at_checked(at).ok_or_else(wrong)?;
            let current = match shell {
                // fish gives the word at the cursor as it was typed, with quotes as bash has them.
                Shell::Fish => bash::Line::of(current, "").words.pop().unwrap_or_default(),
                _ => current.clone(),
            };
            ([before, &[current], behind].concat(), at, None)
        }
        _ => return Err(wrong()),
    };
    let Some(asked) = Asked::of(&words, at) else { return Ok(None) };
    let prefix = asked.prefix.clone();
    let (give, take) = mpsc::channel();
    // The process ends with the answer, and this thread with it.
    thread::spawn(move || give.send(candidates(&asked, shell)));
    let patience = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(PATIENCE);
    let found = take.recv_timeout(Duration::from_millis(patience)).unwrap_or_default();
    let words = found.into_iter().map(|word| format!("{prefix}{word}")).filter_map(|word| match &quoting {
        Some(quoting) => quoting.quoted(&word),
        None => Some(word),
    });
    Ok(Some(words.collect()))
}

/// What the word at the cursor may become.
fn candidates(asked: &Asked, shell: Shell) -> BTreeSet<String> {
    let text = &asked.text;
    let mut found = match asked.kind {
        Kind::Location => locations::beginning(text, &modules::of(&asked.whom), asked.whom != Whom::default()),
        Kind::Process => running().iter().map(|process| described(process, shell)).collect(),
        Kind::Name => running().into_iter().map(|process| process.name).collect(),
        Kind::Executable => running().into_iter().filter_map(|process| process.executable).collect(),
    };
    // A line has one word, and a terminal obeys control characters.
    found.retain(|word| word.starts_with(&**text) && word.chars().all(|letter| !letter.is_control() || letter == '\t'));
    found
}

/// The number of a process; for fish also its name, which that shell shows beside it.
fn described(process: &Running, shell: Shell) -> String {
    match shell {
        Shell::Fish => format!("{}\t{}", process.pid, process.name),
        _ => process.pid.to_string(),
    }
}
