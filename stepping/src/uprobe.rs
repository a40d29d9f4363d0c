use core::fmt;

/// What the uprobes of Linux do with a breakpoint on an instruction: `R` names why they refuse it, `D` what they do wrong.
///
/// It tells users of uprobes (perf, bpftrace, SystemTap, BPF) which addresses of a program to avoid. The crate's own plans share none of these
/// limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uprobe<R, D> {
    /// The instruction does what it does without the uprobe, and each execution is one hit.
    Passed,
    /// The kernel sets no uprobe there. The system call fails with `ENOTSUPP` (524) on x86 and `EINVAL` on arm64.
    Refused(R),
    /// The kernel sets a uprobe there, and the program does something else than without it, or hits are miscounted.
    Wrong(D),
}

impl<R: fmt::Display, D: fmt::Display> fmt::Display for Uprobe<R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Uprobe::Passed => f.write_str("passed"),
            Uprobe::Refused(reason) => write!(f, "refused: {reason}"),
            Uprobe::Wrong(deviation) => write!(f, "wrong: {deviation}"),
        }
    }
}
