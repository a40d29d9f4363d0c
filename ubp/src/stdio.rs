use std::process::{ChildStderr, ChildStdin, ChildStdout};

/// The ends of the pipes that a spawned program's [`Command`](std::process::Command) asked for.
#[derive(Debug, Default)]
pub struct Stdio {
    /// What the program reads.
    pub stdin: Option<ChildStdin>,
    /// What the program writes.
    pub stdout: Option<ChildStdout>,
    /// What the program complains.
    pub stderr: Option<ChildStderr>,
}
