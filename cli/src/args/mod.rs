//! The command line.
//!
//! `ntrace --help`, the manual page ntrace(1) and the shell completions come from these declarations.

mod buffering;
mod covering;
mod events;
mod explaining;
mod exporting;
mod filtering;
pub(crate) mod following;
mod grouping;
mod help;
mod keeping;
mod listing;
mod recording;
mod serving;
mod timing;
mod tracing;
mod viewing;

use clap::{Parser, Subcommand};

use crate::output::Colour;

pub(crate) use self::covering::{CoverageArgs, CoverageFormat};
pub(crate) use self::events::{EventArgs, Events};
pub(crate) use self::explaining::{Arch, ExplainArgs, SurveyArgs};
pub(crate) use self::exporting::ExportArgs;
pub(crate) use self::filtering::FilterArgs;
pub(crate) use self::grouping::{Key, Source};
pub(crate) use self::help::{LOCATIONS, STATUS};
pub(crate) use self::keeping::RunArgs;
pub(crate) use self::listing::ListArgs;
pub(crate) use self::recording::RecordArgs;
pub(crate) use self::serving::{DapArgs, GdbserverArgs};
pub(crate) use self::timing::{CallsArgs, CallsFormat, LatencyArgs};
pub(crate) use self::tracing::{CountArgs, CountFormat, Format, Method, TableFormat, Target, TimeStyle, TraceArgs};
pub(crate) use self::viewing::TopArgs;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "ntrace", version, about = "Trace, count and explain the instructions of running programs")]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    /// Colour the results: on a terminal, also in files and pipes, or nowhere
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true, global = true)]
    pub(crate) color: Colour,

    /// Fetch debug files that this machine does not have from these servers, in place of those of DEBUGINFOD_URLS; several addresses have spaces
    /// between them, and `none` fetches nothing
    #[arg(long, value_name = "SERVERS", global = true)]
    pub(crate) debuginfod: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a line each time a thread reaches a location
    #[command(override_usage = help::TRACE_USAGE, after_help = help::trace())]
    Trace(Box<TraceArgs>),
    /// Count how often threads reach locations
    #[command(override_usage = help::COUNT_USAGE, after_help = help::count())]
    Count(CountArgs),
    /// Show on the terminal which locations threads reach how often a second
    #[command(override_usage = help::TOP_USAGE, after_help = help::top())]
    Top(TopArgs),
    /// Measure how long functions take, or how long threads take from one location to another
    #[command(override_usage = help::LATENCY_USAGE, after_help = help::latency())]
    Latency(LatencyArgs),
    /// Print the calls of functions as an indented tree, each with its time
    #[command(override_usage = help::CALLS_USAGE, after_help = help::calls())]
    Calls(CallsArgs),
    /// Find out which functions, source lines and blocks of an unmodified program are executed
    #[command(override_usage = help::COVERAGE_USAGE, after_help = help::COVERAGE)]
    Coverage(CoverageArgs),
    /// Run one of these commands with the arguments that a file keeps
    #[command(override_usage = help::RUN_USAGE, after_help = help::RUN)]
    Run(RunArgs),
    /// List what locations mean in a file or a process: addresses, names, lines, and how a breakpoint there is passed
    #[command(override_usage = help::LIST_USAGE, after_help = help::list())]
    List(ListArgs),
    /// Record every instruction that a program executes, check such a recording, or print it
    #[command(override_usage = help::RECORD_USAGE, after_help = help::record())]
    Record(RecordArgs),
    /// Serve gdb or lldb, which debug a program through ntrace
    #[command(override_usage = help::GDBSERVER_USAGE, after_help = help::GDBSERVER)]
    Gdbserver(GdbserverArgs),
    /// Serve an editor, which debugs a program through ntrace by the Debug Adapter Protocol
    #[command(override_usage = help::DAP_USAGE, after_help = help::DAP)]
    Dap(DapArgs),
    /// Explain an instruction: fields, registers, flow, and how a thread passes a breakpoint on it
    #[command(override_usage = help::EXPLAIN_USAGE, after_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    /// Report how a thread would pass a breakpoint on each instruction of an ELF file
    #[command(after_help = help::SURVEY)]
    Survey(SurveyArgs),
    /// Print the words of rules: events, their numbers, filters and actions
    Vocabulary {
        /// The format of the results
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Send commands to the kernel module by hand, and show what it tells: each line of standard input is a command
    #[command(after_help = help::CHANNEL)]
    Channel,
    /// Print a script that completes the arguments of ntrace in a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
        /// The command line of which the script asks what may stand at the cursor
        #[arg(last = true, hide = true)]
        line: Vec<String>,
    },
    /// Print the manual page ntrace(1)
    #[command(after_help = help::MAN)]
    Man,
}
