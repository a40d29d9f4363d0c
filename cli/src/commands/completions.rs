//! `ntrace completions`.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::failure::Result;
use crate::output::Output;

/// Prints the completion script for a shell.
pub(super) fn run(shell: Shell) -> Result<ExitCode> {
    let mut command = Cli::command();
    let name = command.get_name().to_string();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    let mut out = Output::stdout();
    out.trusted(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
