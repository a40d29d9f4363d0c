use core::fmt;

/// Why there is no trampoline for a site of A64. A breakpoint instruction with a plan of `stepping` is the way then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The word at the site is no instruction.
    NotCode,
    /// `stepping` refuses the instruction, with this reason.
    Stepping(stepping::arm64::Refusal),
    /// The instruction is a landing pad in a guarded page, which a branch is not.
    LandingPad,
    /// The instruction is a call, which needs the guarded control stack of the thread.
    ControlStack,
    /// The instruction is a call to the address in the link register.
    CallThroughLink,
    /// The copy of the instruction needs a trap or a single step: `movprfx`, authenticated calls, literals out of reach.
    NeedsTrap,
    /// This address is more than 128 MiB away.
    OutOfReach(u64),
}

impl Refusal {
    /// The number of the reason, counted from 1, for interfaces that report numbers. Numbers never change.
    pub const fn number(&self) -> u64 {
        match self {
            Refusal::NotCode => 1,
            Refusal::Stepping(_) => 2,
            Refusal::LandingPad => 3,
            Refusal::ControlStack => 4,
            Refusal::CallThroughLink => 5,
            Refusal::NeedsTrap => 6,
            Refusal::OutOfReach(_) => 7,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotCode => f.write_str("no instruction at the site"),
            Refusal::Stepping(reason) => reason.fmt(f),
            Refusal::LandingPad => f.write_str("a branch is no landing pad"),
            Refusal::ControlStack => f.write_str("a call that needs the guarded control stack"),
            Refusal::CallThroughLink => f.write_str("a call through the link register"),
            Refusal::NeedsTrap => f.write_str("a copy of the instruction ends with a trap"),
            Refusal::OutOfReach(address) => write!(f, "{address:#x} is out of reach of a branch"),
        }
    }
}

impl core::error::Error for Refusal {}
