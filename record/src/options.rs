//! What a recorder is asked for, and how it ends.

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Registers before each instruction.
    pub registers: bool,
    /// Processes that the program forks, too.
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
    /// These, of a process that runs already.
    These(Vec<u32>),
}

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}
