//! The subcommands.

mod calls;
mod channel;
mod completions;
mod count;
mod coverage;
mod dap;
mod explain;
mod flame;
mod gdbserver;
mod grouped;
mod latency;
mod list;
mod man;
mod record;
mod set;
mod stacks;
mod survey;
mod tally;
mod timing;
mod top;
mod trace;
mod vocabulary;

use std::process::ExitCode;

use crate::args::Command;
use crate::failure::Result;
use crate::worker;

/// Runs a subcommand and returns the exit status.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Record(args) => record::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Survey(args) => survey::run(args),
        Command::List(args) => list::run(args),
        Command::Trace(args) => worker::run(|control, heritage| trace::run(args, control, heritage)),
        Command::Count(args) if args.grouping.stack => {
            worker::run(|control, heritage| stacks::run(args, control, heritage))
        }
        Command::Count(args) if args.grouping.is_used() => {
            worker::run(|control, heritage| grouped::run(args, control, heritage))
        }
        Command::Count(args) => worker::run(|control, heritage| count::run(args, control, heritage)),
        Command::Top(args) => top::run(args),
        Command::Run(args) => run(&set::read(args)?.command),
        Command::Coverage(args) => worker::run(|control, heritage| coverage::run(args, control, heritage)),
        Command::Latency(args) => worker::run(|control, heritage| latency::run(args, control, heritage)),
        Command::Calls(args) => worker::run(|control, heritage| calls::run(args, control, heritage)),
        Command::Gdbserver(args) => worker::run(|control, heritage| gdbserver::run(args, &control, heritage)),
        Command::Dap(args) => worker::run(|control, heritage| dap::run(args, &control, heritage)),
        Command::Channel => channel::run(),
        Command::Vocabulary { format } => vocabulary::run(*format),
        Command::Completions { shell, line } => completions::run(*shell, line),
        Command::Man => man::run(),
    }
}
