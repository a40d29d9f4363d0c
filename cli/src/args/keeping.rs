//! The arguments of `ntrace run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// The arguments of `ntrace run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The file (TOML, see docs/sets.md)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The name of the set of arguments; not needed if the file has only one
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Attach to the running process PID, instead of what the file says. May be repeated
    #[arg(short, long = "pid", value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pids: Vec<i32>,

    /// Write the results to FILE, instead of what the file of arguments says
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The program to run, with its arguments, instead of what the file says
    #[arg(last = true, value_name = "PROG")]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}
