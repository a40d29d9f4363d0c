//! Bytes that always trap in user mode when an instruction begins with them, whatever follows.
//!
//! | bytes | instruction | exception | source |
//! |---|---|---|---|
//! | 06 07 0e 16 17 1e 1f | push and pop of segment registers | #UD | SDM vol. 2A appendix A, table A-2 (i64); APM vol. 3 appendix A |
//! | 27 2f 37 3f d4 | decimal adjust | #UD | the entries DAA, DAS, AAA, AAS, AAM of both manuals |
//! | 60 61 | `pusha`, `popa` | #UD | the entries PUSHA, POPA |
//! | 82 | group 1 with byte operands | #UD | SDM vol. 2A appendix A, table A-6; APM vol. 3, table A-6 |
//! | 9a ea | far call and jump with a pointer in the code | #UD | the entries CALL, JMP |
//! | ce | `into` | #UD | the entry INTO |
//! | d6 | `udb`, formerly undocumented (`salc`) | #UD | SDM vol. 2D, UDB; APM vol. 3 appendix B, table B-3 |
//! | cc | `int3` | #BP, a trap: the pc is behind it | the entry INT3 |
//! | f4 | `hlt` | #GP | privileged in both manuals |
//!
//! The manuals of both vendors agree on these bytes. Left out are 62, c4, c5 and d5, which begin EVEX, VEX and REX2; f1 (`int1`), of which
//! some hypervisors leave the pc at the instruction; and 6c to 6f, e4 to e7, ec to ef, fa and fb, which are permitted to a thread that
//! called ioperm(2) or iopl(2), or which the kernel then skips.
//!
//! In 32-bit code all of them but cc and f4 are instructions.

/// Bytes of `jmp rel32`.
pub const JUMP_LEN: usize = 5;

/// The kind of exception by which a byte traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trap {
    /// #UD, which Linux reports as `SIGILL`. The pc is at the byte.
    Undefined,
    /// #BP, which Linux reports as `SIGTRAP` with the code `SI_KERNEL`. The pc is behind the byte.
    Breakpoint,
    /// #GP, which Linux reports as `SIGSEGV` with the code `SI_KERNEL`. The pc is at the byte.
    Protection,
}

impl Trap {
    /// The distance in bytes from the byte that trapped to the pc of the thread.
    pub const fn distance(self) -> u64 {
        match self {
            Trap::Breakpoint => 1,
            _ => 0,
        }
    }
}

/// Bytes that always trap in 64-bit mode, and how; smallest byte first. They hold for processors of both vendors.
pub const TRAPPING: [(u8, Trap); 21] = [
    (0x06, Trap::Undefined),
    (0x07, Trap::Undefined),
    (0x0e, Trap::Undefined),
    (0x16, Trap::Undefined),
    (0x17, Trap::Undefined),
    (0x1e, Trap::Undefined),
    (0x1f, Trap::Undefined),
    (0x27, Trap::Undefined),
    (0x2f, Trap::Undefined),
    (0x37, Trap::Undefined),
    (0x3f, Trap::Undefined),
    (0x60, Trap::Undefined),
    (0x61, Trap::Undefined),
    (0x82, Trap::Undefined),
    (0x9a, Trap::Undefined),
    (0xcc, Trap::Breakpoint),
    (0xce, Trap::Undefined),
    (0xd4, Trap::Undefined),
    (0xd6, Trap::Undefined),
    (0xea, Trap::Undefined),
    (0xf4, Trap::Protection),
];

/// How an instruction that begins with `byte` traps in 64-bit mode; `None` if it does not always trap.
///
/// ```
/// use trampoline::x86::{Trap, trap};
///
/// assert_eq!(trap(0x06), Some(Trap::Undefined));
/// // `nop`
/// assert_eq!(trap(0x90), None);
/// ```
pub fn trap(byte: u8) -> Option<Trap> {
    TRAPPING.iter().find(|(trapping, _)| *trapping == byte).map(|(_, trap)| *trap)
}
