//! The arguments of `ntrace trace` and `ntrace count`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::buffering::Buffer;
use super::events::EventArgs;
use super::exporting::ExportArgs;
use super::filtering::FilterArgs;
use super::following::Following;
use super::grouping::GroupArgs;

/// The locations and the program, for all commands that trace.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
    /// A location: symbol, pattern, module!symbol, address, file:line, symbol+offset. May be repeated
    #[arg(short = 'b', long = "break", value_name = "LOCATION", num_args = 1..)]
    pub(crate) locations: Vec<String>,

    /// Set a breakpoint on every instruction of the functions of -b, or without -b of the whole program with its libraries
    #[arg(long)]
    pub(crate) every_instruction: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Do not trace the processes that the program forks
    #[arg(long)]
    pub(crate) no_follow: bool,

    /// Write the results to FILE instead of standard error
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The mechanism for breakpoints
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub(crate) backend: Backend,

    /// Stop after a time, such as 500ms, 10s or 2min; a program that ntrace started runs on without breakpoints
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,

    /// Attach to the running process PID. May be repeated
    #[arg(short, long = "pid", value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pids: Vec<i32>,

    /// Attach to all running processes whose program is called NAME. May be repeated
    #[arg(long = "name", value_name = "NAME", conflicts_with = "program")]
    pub(crate) names: Vec<String>,

    /// Attach to all running processes whose executable file has a path like GLOB; without / only the file's name counts. May be repeated
    #[arg(long = "exec", value_name = "GLOB", conflicts_with = "program")]
    pub(crate) executables: Vec<String>,

    /// Attach to all processes of the container of process PID: of its PID namespace, or of its control group. May be repeated
    #[arg(long = "container", value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) containers: Vec<i32>,

    /// Trace processes that begin later, from the first instruction on, over the kernel module: those that execute a program like exec:GLOB,
    /// those of a user (user:NAME; user for your own), of a control group (cgroup:PATH) or of the PID namespace of a process (pidns:PID). A
    /// comma between conditions means that all must hold. May be repeated. children, which is the default, stands for the processes that
    /// traced ones make
    #[arg(long = "follow", value_name = "WHOM")]
    pub(crate) follow: Vec<Following>,

    /// The program to run, with its arguments
    #[arg(last = true, value_name = "PROG", required_unless_present_any = ["pids", "names", "executables", "containers", "follow"])]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}

/// The arguments of `ntrace trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    #[command(flatten)]
    pub(crate) observed: EventArgs,

    /// The format of the results
    #[arg(long, alias = "output-format", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print the arguments of the function: by debug information or by a prototype of the C library, else the first six integers. A pointer
    /// to printable text is printed as the text, up to 64 bytes
    #[arg(long)]
    pub(crate) args: bool,

    /// Print the variables that are in scope at the location, parameters first, by debug information. A location may be any instruction or line
    #[arg(long)]
    pub(crate) locals: bool,

    /// Print the callers of the function, at most 128
    #[arg(long)]
    pub(crate) stack: bool,

    /// Print a line when the function returns: the returned value, by debug information or by a prototype of the C library, and the time
    /// between
    #[arg(long = "return")]
    pub(crate) returned: bool,

    /// Stop after N hits, returns and other events; a program that ntrace started runs on without breakpoints
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,

    /// The instruction that ntrace writes at each location. With --locals or --return it is always a trap
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub(crate) method: Method,

    /// The memory in which code of jumps records hits, and the number of hits for which there is room in each process: lossless (a thread waits while
    /// it is full), drop (hits are lost, and counted), circular (only the last hits of a process are printed, when it ends)
    ///
    /// With --stack there is room for 1024 hits at most, because each takes 32 KiB.
    #[arg(long, value_name = "lossless|drop|circular[:HITS]", default_value = "lossless", hide_default_value = true)]
    pub(crate) buffer: Buffer,

    /// The time to print with each hit
    #[arg(long, value_enum, default_value_t = TimeStyle::Relative)]
    pub(crate) time: TimeStyle,
}

/// The arguments of `ntrace count`.
#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// The format of the results
    #[arg(long, alias = "output-format", value_enum, default_value_t = CountFormat::Text)]
    pub(crate) format: CountFormat,

    #[command(flatten)]
    pub(crate) grouping: GroupArgs,

    /// List each location without hits, instead of their number in one line
    #[arg(long)]
    pub(crate) all: bool,

    /// Do not show the running total on the terminal, nor the line at the end
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The instruction that ntrace writes at each location
    #[arg(long, value_enum, default_value_t = Method::Auto)]
    pub(crate) method: Method,

    #[command(flatten)]
    pub(crate) export: ExportArgs,
}

/// The instruction at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// A jump over ptrace where one is right and fast, else a trap
    Auto,
    /// A jump to code that counts or records, in nanoseconds; locations that can have none are refused
    Jump,
    /// A breakpoint instruction
    Trap,
}

impl From<Method> for ubp::Patch {
    fn from(method: Method) -> ubp::Patch {
        match method {
            Method::Auto => ubp::Patch::Auto,
            Method::Jump => ubp::Patch::Jump,
            Method::Trap => ubp::Patch::Trap,
        }
    }
}

/// The mechanism that sets breakpoints and reports hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// The kernel module if it is loaded and supports the request, else ptrace
    Auto,
    /// The kernel module, through /dev/ntrace
    Kernel,
    /// ptrace(2)
    Ptrace,
}

impl From<Backend> for ubp::Mechanism {
    fn from(backend: Backend) -> ubp::Mechanism {
        match backend {
            Backend::Auto => ubp::Mechanism::Auto,
            Backend::Kernel => ubp::Mechanism::Kernel,
            Backend::Ptrace => ubp::Mechanism::Ptrace,
        }
    }
}

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Text,
    /// JSON, one object a line
    Json,
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Text for people
    Text,
    /// JSON, one object
    Json,
    /// Comma-separated values, a line for each row behind a line with the names of the columns
    Csv,
}

/// The format of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountFormat {
    /// Text for people
    Text,
    /// JSON, one object
    Json,
    /// Comma-separated values, a line for each row behind a line with the names of the columns
    Csv,
    /// With --stack: each stack with its hits, one line a stack
    Folded,
    /// With --stack: a flame graph of these stacks, as SVG
    Flamegraph,
}

impl CountFormat {
    /// The format of a table, unless only stacks have this one.
    pub(crate) fn of_table(self) -> Result<TableFormat, &'static str> {
        match self {
            CountFormat::Text => Ok(TableFormat::Text),
            CountFormat::Json => Ok(TableFormat::Json),
            CountFormat::Csv => Ok(TableFormat::Csv),
            CountFormat::Folded => Err("--format folded: only stacks have this form; add --stack"),
            CountFormat::Flamegraph => Err("--format flamegraph: only stacks have this form; add --stack"),
        }
    }
}

/// The time that is printed with each hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeStyle {
    /// Seconds since the trace began
    Relative,
    /// Seconds of the monotonic clock
    Monotonic,
    /// Seconds since 1970-01-01 00:00 UTC
    Epoch,
    /// No time
    None,
}
