//! `ntrace completions`.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::completing::{answer, options};
use crate::failure::Result;
use crate::output::Output;

/// What asks ntrace for functions and processes, behind the script that knows commands and options.
const BASH: &str = include_str!("../completing/ask.bash");
const ZSH: &str = include_str!("../completing/ask.zsh");
const FISH: &str = include_str!("../completing/ask.fish");

/// The status by which a script learns that its own declarations tell what may stand at the cursor.
const NOT_ASKED: u8 = 1;

/// Prints the completion script for a shell, or for a line that a script gives, what may stand at the cursor.
pub(super) fn run(shell: Shell, line: &[String]) -> Result<ExitCode> {
    let mut out = Output::stdout();
    if !line.is_empty() {
        let Some(words) = answer(shell, line)? else { return Ok(ExitCode::from(NOT_ASKED)) };
        words.iter().try_for_each(|word| out.trusted(format!("{word}\n").as_bytes()))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    out.trusted(script(shell).as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> String {
    let mut command = Cli::command();
    let name = command.get_name().to_string();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    let declared = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => format!("{declared}\n{BASH}"),
        Shell::Zsh => {
            // The shell calls the function of the file's name.
            let own = declared.find("\nif [ \"$funcstack[1]\"").map_or(&*declared, |end| &declared[..end]);
            format!("{}\n{ZSH}", own.replacen("\n_ntrace() {", "\n_ntrace_declared() {", 1))
        }
        Shell::Fish => {
            let rules = options().into_iter().map(|(command, short, long)| {
                let short = short.map(|short| format!(" -s {short}")).unwrap_or_default();
                let long = long.map(|long| format!(" -l {long}")).unwrap_or_default();
                let condition = format!("__fish_ntrace_using_subcommand {command}");
                format!("complete -c ntrace -n \"{condition}\"{short}{long} -x -a '(__ntrace_found)'\n")
            });
            format!("{declared}\n{FISH}{}", rules.collect::<String>())
        }
        _ => declared.into_owned(),
    }
}
