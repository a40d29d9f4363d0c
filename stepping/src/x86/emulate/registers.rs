//! The registers of a thread, as emulation needs them.

use insn::x86::{Flags, Reg};

/// The registers of the thread at the site, supplied by the caller.
///
/// Emulation asks for the general registers, [`Reg::RIP`], [`Reg::FLAGS`], [`Reg::FS_BASE`], [`Reg::GS_BASE`], the selectors, and
/// [`Reg::SSP`] if [`Registers::shadow_stack`] returns true. The flags are the program's: they do not contain a trap flag that a debugger
/// set for its own stepping.
pub trait Registers {
    /// The value of `reg`, zero-extended to 64 bits.
    fn get(&self, reg: Reg) -> u64;
    /// Sets all bits of `reg`.
    fn set(&mut self, reg: Reg, value: u64);
    /// Whether the thread runs with a shadow stack.
    fn shadow_stack(&self) -> bool {
        false
    }
    /// Number of bits in a linear address: 48, or 57 with five-level paging.
    fn linear_address_bits(&self) -> u32 {
        48
    }
    /// Whether APX is enabled (CPUID.(7,1).EDX bit 21 and XCR0 bit 19): without it REX2 raises #UD.
    fn apx(&self) -> bool {
        false
    }
    /// A data address without the tag bits that the processor ignores (Intel LAM, AMD UAI).
    fn untagged(&self, address: u64) -> u64 {
        address
    }
    /// The flags that [`Registers::set`] can change. ptrace cannot change ID, but `popf` can: see [`Outcome::Slot`](crate::Outcome::Slot).
    fn settable_flags(&self) -> Flags {
        Flags::from_bits(u32::MAX)
    }
}
