//! The registers of a thread, as emulation needs them.

use insn::x86::{Flags, Reg};

/// The registers of the thread at the site.
///
/// Asked for: the general registers, [`Reg::RIP`], [`Reg::FLAGS`], [`Reg::FS_BASE`], [`Reg::GS_BASE`], the selectors,
/// and [`Reg::SSP`] where [`Registers::shadow_stack`] says so. The flags are the program's: a trap flag that a debugger set
/// for its own stepping is not in them.
pub trait Registers {
    /// The value of `reg`, zero-extended.
    fn get(&self, reg: Reg) -> u64;
    /// Sets the whole of `reg`.
    fn set(&mut self, reg: Reg, value: u64);
    /// Whether the thread runs with a shadow stack.
    fn shadow_stack(&self) -> bool {
        false
    }
    /// Bits of a linear address: 48, or 57 with five-level paging in use.
    fn linear_address_bits(&self) -> u32 {
        48
    }
    /// Whether APX is enabled (CPUID.(7,1).EDX bit 21 and XCR0 bit 19): without it REX2 raises #UD.
    fn apx(&self) -> bool {
        false
    }
    /// What remains of a data address without the tag that the processor ignores (Intel LAM, AMD UAI).
    fn untagged(&self, address: u64) -> u64 {
        address
    }
    /// The flags that [`Registers::set`] can change. ptrace cannot change ID, which `popf` can: see [`Outcome::Slot`](crate::Outcome::Slot).
    fn settable_flags(&self) -> Flags {
        Flags::from_bits(u32::MAX)
    }
}
