//! The arguments of `ntrace latency` and `ntrace calls`.

use clap::{Args, ValueEnum};

use super::exporting::ExportArgs;
use super::tracing::{TableFormat, Target};

/// The arguments of `ntrace latency`.
#[derive(Debug, Args)]
#[command(mut_arg("every_instruction", |argument| argument.hide(true)))]
pub(crate) struct LatencyArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// The format of the results
    #[arg(long, alias = "output-format", value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,

    /// Measure until the same thread reaches LOCATION, instead of until the function returns. May be repeated
    #[arg(long, value_name = "LOCATION")]
    pub(crate) to: Vec<String>,

    /// Print a row for each location, or for each location and thread, process, caller, or value that an expression as for --if has when the function is entered
    #[arg(long, value_name = "location|thread|process|caller|EXPRESSION", default_value = "location")]
    pub(crate) by: String,

    /// Print a histogram for each row: the number of times from each power of two of nanoseconds to the next
    #[arg(long)]
    pub(crate) histogram: bool,

    #[command(flatten)]
    pub(crate) export: ExportArgs,
}

/// The arguments of `ntrace calls`.
#[derive(Debug, Args)]
#[command(mut_arg("every_instruction", |argument| argument.hide(true)))]
pub(crate) struct CallsArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// The format of the results
    #[arg(long, alias = "output-format", value_enum, default_value_t = CallsFormat::Text)]
    pub(crate) format: CallsFormat,

    /// Print calls up to this depth; 1 is a call that no traced function made
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,

    /// Print the arguments of each function: by debug information or by a prototype of the C library, else the first six integers. A pointer
    /// to printable text is printed as the text, up to 64 bytes
    #[arg(long)]
    pub(crate) args: bool,

    /// Print what each function returns: by debug information or by a prototype of the C library, else an integer or the text that it points to
    #[arg(long = "return")]
    pub(crate) returned: bool,

    /// Stop after N returns; a program that ntrace started runs on without breakpoints
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}

/// The format of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallsFormat {
    /// Indented text for people
    Text,
    /// JSON, one object a line when a call returns
    Json,
    /// Each stack of functions with the nanoseconds that the last of them took, one line a stack
    Folded,
    /// A flame graph of these stacks, as SVG
    Flamegraph,
    /// A trace for ui.perfetto.dev: each call as a slice of its thread, and counters: calls a second by location, and with --args and --return
    /// the numbers among them
    Perfetto,
}
