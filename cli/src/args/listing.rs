//! The arguments of `ntrace list`.

use std::path::PathBuf;

use clap::Args;

use super::tracing::Format;

/// The arguments of `ntrace list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// A location, as -b of `ntrace trace` takes it
    #[arg(required = true, value_name = "LOCATION")]
    pub(crate) locations: Vec<String>,

    /// Search this ELF file. May be repeated
    #[arg(short, long = "file", value_name = "FILE", required_unless_present = "pid")]
    pub(crate) files: Vec<PathBuf>,

    /// Search the program and the libraries of the running process PID
    #[arg(short, long, value_name = "PID", conflicts_with = "files", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: Option<i32>,

    /// The format of the list
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}
