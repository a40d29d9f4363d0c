//! Register sets, as the kernel numbers them.

use std::fmt;

use crate::arch;

/// A register set, by its number (`NT_…` in linux/elf.h; `PTRACE_GETREGSET`, ptrace(2)). The kernel defines the layout of each. The
/// constants are the sets of this architecture; others can be given by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegisterSet(pub u32);

impl RegisterSet {
    /// The general registers (`NT_PRSTATUS`), in the layout of [`Registers::bytes`](crate::Registers::bytes), also of a 32-bit program.
    pub const GENERAL: RegisterSet = RegisterSet(1);
    /// The floating-point registers (`NT_PRFPREG`): `FXSAVE`'s 512 bytes on x86, `struct user_fpsimd_state` on arm64.
    pub const FLOAT: RegisterSet = RegisterSet(2);
}

impl fmt::Display for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("NT_PRSTATUS"),
            2 => f.write_str("NT_PRFPREG"),
            number => match arch::SETS.iter().find(|set| set.0.0 == number) {
                Some((_, name)) => f.write_str(name),
                None => write!(f, "{number:#x}"),
            },
        }
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
