//! How a thread passes a breakpoint on an instruction: emulate it, run a copy of it out of line, or refuse, with a reason.
//!
//! Pure computation: registers and memory are reached only through [`Registers`](x86::Registers) and [`Memory`].
//! No allocation, no panic.
#![no_std]
#![forbid(unsafe_code)]

pub mod x86;

/// The debuggee's memory, as the thread at the site sees it.
pub trait Memory {
    /// Fills `buffer` from `address` on, or fails and says where the first byte that cannot be read lies.
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault>;
    /// Writes all of `bytes` at `address`, or nothing.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault>;
    /// Writes to a shadow stack, which ordinary stores cannot.
    fn write_shadow_stack(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.write(address, bytes)
    }
}

/// What the processor would have raised in place of completing the instruction.
///
/// A back end that gets one lets the thread execute the plan's copy ([`x86::Emulate::slot`]) by a single step, so that the
/// processor itself raises the fault with every detail right; if that step completes after all (another thread mapped the
/// page, the stack grew), it puts the registers back and emulates again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Memory that cannot be accessed, by the address of the first such byte.
    Page(u64),
    /// A non-canonical address or branch target.
    NonCanonical(u64),
    /// An access at an odd address while the program checks alignment (AC in the flags).
    Alignment(u64),
    /// An access through a null selector, outside 64-bit mode.
    NullSelector(u16),
    /// An instruction of APX, which is not enabled.
    Undefined,
    /// The return address differs from the shadow stack's.
    ControlProtection(u64),
}
