//! The numbers of the system calls that the tracer makes in debuggees.

/// The numbers for one architecture.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptrace) struct Calls {
    /// `mmap`, or `mmap2`.
    pub(in crate::ptrace) mmap: u64,
    pub(in crate::ptrace) munmap: u64,
    pub(in crate::ptrace) memfd_create: u64,
    pub(in crate::ptrace) close: u64,
}
