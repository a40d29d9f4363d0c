use core::fmt;

/// Why an instruction of A64 cannot carry a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The instruction is a store-exclusive, which would always fail because the breakpoint clears the exclusive monitor.
    StoreExclusive,
    /// The instruction is between a load-exclusive and its store-exclusive, which would always fail.
    ExclusiveRegion {
        /// The nearest address below that can carry a breakpoint, if there is one nearby.
        before: Option<u64>,
        /// The nearest address above that can carry a breakpoint, if there is one nearby.
        after: Option<u64>,
    },
    /// The instruction is a load-exclusive, and the slot is out of reach of a branch back. A trap would clear the exclusive monitor.
    ExclusiveOutOfReach,
    /// The instruction signs the return address with its own address (PAuth_LR): `paciasppc` and similar.
    SignsWithAddress,
    /// The instruction is `pacm`, which only modifies the next instruction.
    Modifier,
    /// The instruction follows `pacm`, whose effect a breakpoint would cancel.
    Modified,
    /// The instruction changes permissions of memory (POE2, TEV), so that its copy might not be executable any more: `tchangef`,
    /// `tchangeb`, `tenter`, `texit`.
    ChangesPermissions,
}

impl Refusal {
    /// The number of the reason, counted from 1, for interfaces that report numbers. Numbers never change.
    pub const fn number(&self) -> u64 {
        match self {
            Refusal::StoreExclusive => 1,
            Refusal::ExclusiveRegion { .. } => 2,
            Refusal::ExclusiveOutOfReach => 3,
            Refusal::SignsWithAddress => 4,
            Refusal::Modifier => 5,
            Refusal::Modified => 6,
            Refusal::ChangesPermissions => 7,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::StoreExclusive => "a store-exclusive fails after a breakpoint",
            Refusal::ExclusiveRegion { before, after } => {
                f.write_str("in an exclusive sequence, whose store would fail each time")?;
                return match (before, after) {
                    (Some(before), Some(after)) => write!(f, "; {before:#x} and {after:#x} are not"),
                    (Some(one), None) | (None, Some(one)) => write!(f, "; {one:#x} is not"),
                    (None, None) => Ok(()),
                };
            }
            Refusal::ExclusiveOutOfReach => "a load-exclusive too far from its slot",
            Refusal::SignsWithAddress => "signs the return address with its own address",
            Refusal::Modifier => "changes what the next instruction does",
            Refusal::Modified => "changed by the instruction before it",
            Refusal::ChangesPermissions => "changes the permissions by which its copy runs",
        })
    }
}

impl core::error::Error for Refusal {}
