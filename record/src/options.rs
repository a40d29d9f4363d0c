//! Options of a recording, and how the program ended.

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Record registers before each instruction.
    pub registers: bool,
    /// Also record processes that the program forks.
    pub follow_forks: bool,
    /// Which threads.
    pub threads: Threads,
}

/// Which threads are recorded. The others run untouched.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Threads {
    /// All of them.
    #[default]
    All,
    /// The first of each process.
    Main,
    /// These threads of a running process.
    These(Vec<u32>),
}

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}
