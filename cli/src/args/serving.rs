//! The arguments of `ntrace gdbserver` and `ntrace dap`.

use std::ffi::OsString;

use clap::Args;

/// The arguments of `ntrace gdbserver`.
#[derive(Debug, Args)]
pub(crate) struct GdbserverArgs {
    /// Where to wait for gdb: a port with or without a host, the path of a socket, or - for the standard input and output
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,

    /// Debug the running process PID
    #[arg(short, long, value_name = "PID", conflicts_with = "program", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: Option<i32>,

    /// Serve one gdb after another, also without a program: gdb starts programs and attaches to processes
    #[arg(long)]
    pub(crate) multi: bool,

    /// The program to debug, and its arguments
    #[arg(last = true, value_name = "PROG", required_unless_present_any = ["pid", "multi"])]
    pub(crate) program: Vec<OsString>,
}

/// The arguments of `ntrace dap`.
#[derive(Debug, Args)]
pub(crate) struct DapArgs {
    /// Where to wait for the editor: a port with or without a host, the path of a socket, or - for the standard input and output
    #[arg(value_name = "ADDRESS", default_value = "-")]
    pub(crate) address: String,
}
