//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const LOCATIONS: &str = "\
Locations:
  malloc                 every function of that name, in the program and its libraries, loaded later or not; a name without
                         parameters, template arguments, tags and clone suffixes means all that share it
  'str*'                 a glob over names, mangled or not: 'core::fmt::*', 'ns::Type::*'; * and ? are wild, \\ quotes
  libc!malloc            only in that module, also libc:malloc: libc, libc.so.6, 'lib*', a path that leads to it, [vdso]
  main+0x10              bytes from a symbol
  malloc@plt             the stub by which a module calls another's function
  memcpy@GLIBC_2.14      one version of a symbol
  ls.c:1250              where a source line begins (debug information), in every inlined copy; without code, the next that has
  0x401136               an address; below the program's own size it counts from the program's base
  libc!0x9d400           an address of the module's file, as nm and objdump print it; libc+0x9d400 is the same";

const STATUS: &str = "\
Exit status: the program's own, or its signal. 125 when ntrace fails, 126 when the program cannot be run or traced,
127 when there is no such program or process, 2 for a wrong command line.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "ntrace", version, about = "Trace, count and explain the instructions of running programs")]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a line whenever a thread comes to a location
    #[command(after_help = trace_help())]
    Trace(TraceArgs),
    /// Count how often threads come to locations
    #[command(after_help = count_help())]
    Count(CountArgs),
    /// Record every instruction that a program executes, check such a trace, or print it
    #[command(after_help = record_help())]
    Record(RecordArgs),
    /// Tell all about one instruction: fields, registers, flow, and how a thread passes a breakpoint on it
    #[command(after_help = explain_help())]
    Explain(ExplainArgs),
    /// Tell how every instruction of an ELF file would be passed
    #[command(after_help = SURVEY_EXAMPLES)]
    Survey(SurveyArgs),
}

fn trace_help() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace trace -b malloc --args -- ls -l\n  \
           ntrace trace -b 'libc!open*' --stack -o opens.txt -p 1234\n  \
           ntrace trace -b main --every-instruction --format json -o all.json -- ./prog\n\n\
         JSON: one object a line; event (\"hit\"), time (seconds), pid, tid, location, module, symbol, offset, address,\n\
         file and line where known, args (value, string), stack (location, module, symbol, offset, address, file, line).\n\n\
         Signals: the program gets those that are sent to ntrace, and the terminal's by itself; a second Ctrl-C leaves the\n\
         program alone. With -p, Ctrl-C or SIGTERM ends the trace and the process runs on.\n\n{STATUS}"
    )
}

fn count_help() -> String {
    format!(
        "{LOCATIONS}\n\n\
         Examples:\n  \
           ntrace count -b 'libc!malloc' -- ls -l /usr/lib\n  \
           ntrace count -b 'pthread_*' -p 1234        (Ctrl-C prints the counts)\n  \
           ntrace count --every-instruction -b main --format json -o counts.json -- ./prog\n\n\
         JSON: one object; total, counts (hits, location, names, module, symbol, offset, address; locations without hits, too,\n\
         of --every-instruction with --all only),\n\
         refused (location, module, address, reason: instructions that --every-instruction left without a breakpoint).\n\n{STATUS}"
    )
}

fn record_help() -> String {
    format!(
        "\
Every instruction is single-stepped; what is recorded is what the processor did: address, bytes, next address.

Examples:
  ntrace record -o ls.ntrace -- ls -l
  ntrace record -o - --registers -p 1234 | zstd >trace.zst        (Ctrl-C ends the trace)
  ntrace record --check ls.ntrace
  ntrace record --print ls.ntrace | less

--check compares each step with what the decoder says of its bytes: length, flow and target. A mismatch is reported with
address, bytes, what was expected and what was seen; exit status 1 on any. FILE may be - in all three.

JSON of --print: one object a line; event (\"step\", \"mapping\", \"started\", \"bits\", \"syscall\", \"signal\", \"exec\", \"exited\",
\"killed\", \"released\", \"moved\"), tid, pid; of a step pc, bytes, text, next, seen, module, offset, registers.

The format is described in docs/recording.md.

{STATUS}"
    )
}

fn explain_help() -> &'static str {
    "\
Examples:
  ntrace explain '48 8b 05 10 00 00 00'
  ntrace explain --at 0x401000 --json e8fb0f0000
  objdump -d prog | cut -f2 | ntrace explain --json -

JSON: one object an instruction; hex, valid, error, length, text, flow, target, encoding, fields, operand_size, address_size,
memory, implicit_memory, reads, writes, flags_read, flags_written, plan (\"emulate\", \"slot\", \"refuse\"), boosted, exit, scratch, reason,
slot (bytes), slot_address, slot_text. What does not apply is null.

HEX may hold spaces, commas, 0x and \\x; several instructions in one HEX are explained one after another. With - every line of
standard input is one instruction and gets one line, bad ones too; length tells how much of it the instruction took.

Exit status: 1 when HEX holds no valid instruction, 2 when it is not hexadecimal."
}

const SURVEY_EXAMPLES: &str = "\
Examples:
  ntrace survey /bin/ls
  ntrace survey --json /lib/x86_64-linux-gnu/libc.so.6";

/// Where to look and whom to trace: what `trace` and `count` share.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Where: a symbol, glob, module!symbol, address, file:line, symbol+offset
    #[arg(short = 'b', long = "break", value_name = "LOCATION", num_args = 1..)]
    pub(crate) locations: Vec<String>,

    /// Every instruction of the functions that -b names, or of the whole program, its libraries included
    #[arg(long)]
    pub(crate) every_instruction: bool,

    /// Leave the processes that the program forks alone
    #[arg(long)]
    pub(crate) no_follow: bool,

    /// Write there and not to standard error
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// How to write
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// What keeps the breakpoints
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub(crate) backend: Backend,

    /// Trace this running process
    #[arg(short, long, value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: Option<i32>,

    /// The program to run, and its arguments
    #[arg(last = true, value_name = "PROG", required_unless_present = "pid")]
    pub(crate) program: Vec<OsString>,
}

/// `ntrace trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// Show the first six integer arguments; printable strings that they point to as such
    #[arg(long)]
    pub(crate) args: bool,

    /// Show the callers
    #[arg(long)]
    pub(crate) stack: bool,

    /// What to show as the time of a hit
    #[arg(long, value_enum, default_value_t = TimeStyle::Relative)]
    pub(crate) time: TimeStyle,
}

/// `ntrace count`.
#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// List locations without hits, too, rather than sum them in one line
    #[arg(long)]
    pub(crate) all: bool,

    /// Show nothing on the terminal before the counts
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// `ntrace record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Write the trace there; - is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["check", "print"])]
    pub(crate) output: Option<PathBuf>,

    /// Record the general registers, flags and segment bases before each instruction, too
    #[arg(long)]
    pub(crate) registers: bool,

    /// Which threads: all, main, or with -p their numbers, separated by commas
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = parse_threads)]
    pub(crate) threads: record::Threads,

    /// Record the processes that the program forks, too
    #[arg(long)]
    pub(crate) follow_forks: bool,

    /// Show nothing on the terminal meanwhile
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Record this running process
    #[arg(short, long, value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,

    /// Compare a trace with what the decoder says of its bytes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "registers", "follow_forks", "quiet", "pid", "program"])]
    pub(crate) check: Option<PathBuf>,

    /// Print a trace
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "output", "registers", "follow_forks", "quiet", "pid", "program"])]
    pub(crate) print: Option<PathBuf>,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "print")]
    pub(crate) format: Format,

    /// The program to run, and its arguments
    #[arg(last = true, value_name = "PROG", required_unless_present_any = ["pid", "check", "print"])]
    pub(crate) program: Vec<OsString>,
}

/// `ntrace explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The instruction's bytes (on arm64 also words of eight digits), or - to read standard input, one instruction a line
    #[arg(required = true, value_name = "HEX|-")]
    pub(crate) hex: Vec<String>,

    /// The architecture
    #[arg(long, value_enum, default_value_t = Arch::X86_64)]
    pub(crate) arch: Arch,

    /// The address of the (first) instruction
    #[arg(long, value_name = "ADDR", default_value = "0x400000", value_parser = parse_number)]
    pub(crate) at: u64,

    /// Whose reading, where Intel and AMD differ; this machine's unless given
    #[arg(long, value_enum)]
    pub(crate) vendor: Option<Vendor>,

    /// One JSON object an instruction
    #[arg(long)]
    pub(crate) json: bool,

    /// Accept reserved bits that hardware is known to ignore
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// `ntrace survey`.
#[derive(Debug, Args)]
pub(crate) struct SurveyArgs {
    /// An ELF program, library or debug file with code
    pub(crate) file: PathBuf,

    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Whose reading, where Intel and AMD differ; this machine's unless given
    #[arg(long, value_enum)]
    pub(crate) vendor: Option<Vendor>,
}

/// What keeps breakpoints and tells of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// The kernel module where it is loaded and can do what is asked, else ptrace
    Auto,
    /// The kernel module, by /dev/ntrace
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

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What is shown as the time of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeStyle {
    /// Seconds since the trace began
    Relative,
    /// Seconds of the monotonic clock
    Monotonic,
    /// Seconds since 1970
    Epoch,
    /// Nothing
    None,
}

/// Architectures that the command line knows by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arch {
    /// 64-bit mode
    #[value(name = "x86_64", alias = "x86-64", alias = "amd64")]
    X86_64,
    /// 32-bit code
    #[value(name = "i386", alias = "x86", alias = "i686")]
    I386,
    /// 16-bit code
    #[value(name = "i8086", alias = "8086")]
    I8086,
    /// A64 code
    #[value(name = "arm64", alias = "aarch64")]
    Arm64,
}

/// Vendors whose processors read some encodings differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vendor {
    /// Intel
    Intel,
    /// AMD
    Amd,
}

/// Reads a decimal or 0x-prefixed number.
pub(crate) fn parse_number(text: &str) -> Result<u64, String> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hex {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .map_err(|error| format!("{error}"))
}

/// Reads a choice of threads.
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
