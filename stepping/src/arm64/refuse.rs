use core::fmt;

/// Why an instruction cannot carry a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// A store-exclusive: the breakpoint closes the monitor before, so that it fails each time.
    StoreExclusive,
    /// Between a load-exclusive and its store, which would fail each time.
    ExclusiveRegion {
        /// The nearest address below that will do, if it is near.
        before: Option<u64>,
        /// The nearest address above that will do, if it is near.
        after: Option<u64>,
    },
    /// A load-exclusive, and the slot too far away for a branch back: a trap closes the monitor.
    ExclusiveOutOfReach,
    /// It signs the return address with its own address (PAuth_LR): `paciasppc` and its like.
    SignsWithAddress,
    /// `pacm`, which changes what the next instruction does and nothing else.
    Modifier,
    /// It follows `pacm`, whose effect a breakpoint loses.
    Modified,
    /// It changes the permissions of memory (POE2, TEV), by which its copy might not run on: `tchangef`, `tchangeb`, `tenter`, `texit`.
    ChangesPermissions,
}

impl Refusal {
    /// Its number, from 1, where it is told as one. Numbers never change.
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
