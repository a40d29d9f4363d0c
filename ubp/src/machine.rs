/// The architecture of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 32-bit x86.
    I386,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// Bytes of a word.
    pub fn width(self) -> usize {
        match self {
            Arch::X86_64 | Arch::Arm64 => 8,
            Arch::I386 => 4,
        }
    }
}
