//! Register sets, as the kernel numbers them.

use std::fmt;

/// Names of register sets, by number (linux/elf.h). No two architectures use a number for different sets.
const NAMES: [(u32, &str); 12] = [
    (1, "NT_PRSTATUS"),
    (2, "NT_PRFPREG"),
    (0x200, "NT_386_TLS"),
    (0x202, "NT_X86_XSTATE"),
    (0x204, "NT_X86_SHSTK"),
    (0x401, "NT_ARM_TLS"),
    (0x404, "NT_ARM_SYSTEM_CALL"),
    (0x405, "NT_ARM_SVE"),
    (0x406, "NT_ARM_PAC_MASK"),
    (0x409, "NT_ARM_TAGGED_ADDR_CTRL"),
    (0x40b, "NT_ARM_SSVE"),
    (0x40c, "NT_ARM_ZA"),
];

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
        match NAMES.iter().find(|set| set.0 == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
