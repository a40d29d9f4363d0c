use core::fmt;

/// Why there is no trampoline for a site of x86. An `int3` with a plan of `stepping` is the way then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The code is 32-bit or 16-bit code, in which nearly all bytes are instructions.
    Not64Bit,
    /// Fewer than five bytes of code are known at the site.
    TooShort,
    /// The bytes at this offset from the site are no instruction.
    NotCode(u8),
    /// The instruction at this offset stores or needs its own address in a way that no copy can give: a far call, `enclu`.
    OwnAddress(u8),
    /// The instruction at this offset is a near branch that truncates its target to 16 bits.
    NarrowBranch(u8),
    /// The instruction at this offset is a call, which needs the shadow stack of the thread.
    ShadowStack(u8),
    /// The instruction at this offset is a call whose target depends on the stack pointer or on the word that the call writes.
    CallThroughStack(u8),
    /// This address is more than 2 GiB away from the trampoline or the mirror.
    OutOfReach(u64),
    /// The room for code or for places is too small.
    NoRoom,
    /// The probe has more clauses or fields than a trampoline can have.
    TooMuch,
    /// The probe names something that is neither one of the first sixteen general registers nor rip.
    NoSuchRegister,
    /// The probe has a size that is not supported: of memory, of a ring, of a histogram or of a table of threads.
    NoSuchSize,
    /// A probe is not at the start of an instruction that the trampoline runs; its offset from the site.
    NotAtInstruction(u8),
}

impl Refusal {
    /// The number of the reason, counted from 1, for interfaces that report numbers. Numbers never change.
    pub const fn number(&self) -> u64 {
        match self {
            Refusal::Not64Bit => 1,
            Refusal::TooShort => 2,
            Refusal::NotCode(_) => 3,
            Refusal::OwnAddress(_) => 4,
            Refusal::NarrowBranch(_) => 5,
            Refusal::ShadowStack(_) => 6,
            Refusal::CallThroughStack(_) => 7,
            Refusal::OutOfReach(_) => 8,
            Refusal::NoRoom => 9,
            Refusal::TooMuch => 10,
            Refusal::NoSuchRegister => 11,
            Refusal::NoSuchSize => 12,
            Refusal::NotAtInstruction(_) => 13,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Not64Bit => f.write_str("nearly all bytes are instructions in 32-bit code"),
            Refusal::TooShort => f.write_str("fewer than five bytes of code"),
            Refusal::NotCode(offset) => write!(f, "no instruction {offset} bytes behind the site"),
            Refusal::OwnAddress(offset) => write!(f, "the instruction at +{offset} stores its own address"),
            Refusal::NarrowBranch(offset) => write!(f, "the branch at +{offset} truncates its target"),
            Refusal::ShadowStack(offset) => write!(f, "the call at +{offset} needs the shadow stack"),
            Refusal::CallThroughStack(offset) => write!(f, "the target of the call at +{offset} is on the stack"),
            Refusal::OutOfReach(address) => write!(f, "{address:#x} is out of reach of the trampoline"),
            Refusal::NoRoom => f.write_str("the room for the trampoline is too small"),
            Refusal::TooMuch => f.write_str("more clauses or fields than a trampoline can have"),
            Refusal::NoSuchRegister => f.write_str("the probe names no general register"),
            Refusal::NoSuchSize => f.write_str("the probe has a size that is not supported"),
            Refusal::NotAtInstruction(offset) => write!(f, "no instruction begins at +{offset}"),
        }
    }
}

impl core::error::Error for Refusal {}
