use std::process::{ChildStderr, ChildStdin, ChildStdout};

/// The tracer's ends of the pipes that a spawned program's [`Command`](std::process::Command) asked for.
#[derive(Debug, Default)]
pub struct Stdio {
    /// Pipe to the program's standard input.
    pub stdin: Option<ChildStdin>,
    /// Pipe from the program's standard output.
    pub stdout: Option<ChildStdout>,
    /// Pipe from the program's standard error.
    pub stderr: Option<ChildStderr>,
}
