//! Options of a recording, and how the program ended.

/// What is recorded. The default records all threads of one process, without registers.
///
/// ```
/// let mut options = record::Options::default();
/// options.registers = true;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Options {
    /// Record registers before each instruction. Default: no.
    pub registers: bool,
    /// Also record processes that the program forks. Default: no.
    pub follow_forks: bool,
    /// Which threads. Default: all.
    pub threads: Threads,
    /// The number of instructions after which the recording is over. Default: none.
    pub limit: Option<u64>,
}

/// Which threads are recorded. The others run untouched.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
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
