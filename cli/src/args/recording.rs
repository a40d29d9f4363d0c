//! The arguments of `ntrace record`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::tracing::Format;

/// The arguments of `ntrace record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Write the recording to FILE; - is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["check", "print"])]
    pub(crate) output: Option<PathBuf>,

    /// Also record the general registers, flags and segment bases before each instruction
    #[arg(long)]
    pub(crate) registers: bool,

    /// The threads to record: all, main, or with -p their ids, separated by commas
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = parse_threads)]
    pub(crate) threads: record::Threads,

    /// Also record the processes that the program forks
    #[arg(long)]
    pub(crate) follow_forks: bool,

    /// Record from the moment when a thread reaches LOCATION for the first time. May be repeated
    #[arg(long, value_name = "LOCATION")]
    pub(crate) after: Vec<String>,

    /// Stop when a thread reaches LOCATION; the program runs on without being recorded. May be repeated
    #[arg(long, value_name = "LOCATION")]
    pub(crate) until: Vec<String>,

    /// Stop after N instructions; the program runs on without being recorded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,

    /// Stop after a time, such as 500ms, 10s or 2min; the program runs on without being recorded
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,

    /// Do not show the progress on the terminal
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Attach to the running process PID
    #[arg(short, long, value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,

    /// Compare the recording FILE with the decoder's reading of its bytes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "registers", "follow_forks", "after", "until", "limit", "duration", "quiet", "pid", "program"])]
    pub(crate) check: Option<PathBuf>,

    /// Print the recording FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "output", "registers", "follow_forks", "after", "until", "limit", "duration", "quiet", "pid", "program"])]
    pub(crate) print: Option<PathBuf>,

    /// The format of --print
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "print")]
    pub(crate) format: Format,

    /// The program to run, with its arguments
    #[arg(last = true, value_name = "PROG", required_unless_present_any = ["pid", "check", "print"])]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}

/// Parses a choice of threads.
fn parse_threads(text: &str) -> Result<record::Threads, String> {
    match text {
        "all" => Ok(record::Threads::All),
        "main" => Ok(record::Threads::Main),
        _ => {
            let tids = text.split(',').map(|tid| tid.parse().map_err(|error| format!("{tid:?}: {error}")));
            Ok(record::Threads::These(tids.collect::<Result<_, String>>()?))
        }
    }
}
