//! How a thread passes a breakpoint on an instruction: emulate it, run a copy of it out of line, or refuse, with a reason.
//!
//! # The model
//!
//! A breakpoint stays in place while threads pass it. Each architecture's `plan` ([`x86::plan`], [`arm64::plan`]) says, from the instruction and
//! its address alone, how ([`arm64::plan_in`] also from the code around it):
//!
//! - [`Plan::Emulate`]: [`x86::Emulate::run`] does what the instruction does on the thread's registers and memory, and
//!   either completes or changes nothing and names the fault. The processor raises the fault itself: the thread steps the
//!   copy that [`x86::Emulate::slot`] makes.
//! - [`Plan::Slot`]: the thread runs a copy at another address, in a *slot* of [`SLOT_SIZE`] bytes written once.
//!   Most are *boosted*: a jump behind the copy leads back, so that passing costs no second trap. [`Code::exit`] says how
//!   a thread leaves, [`Code::scratch`] what to load before it enters, and [`Code::original`] what every address in
//!   the slot means in the original code, so that a signal, a stop or an unwinder need never see a slot.
//! - [`Plan::Refuse`]: no breakpoint can be set there, and why.
//!
//! Everything here is pure computation: registers and memory are reached only through [`x86::Registers`], [`arm64::Registers`] and [`Memory`].
//! There is no allocation, no panic, and nothing that depends on anything but its arguments. A plan is complete: a back end
//! needs no knowledge of instructions.
//!
//! Which class of instructions gets which plan, and known deviations: [`x86`], [`arm64`].
#![no_std]
#![forbid(unsafe_code)]

pub mod arm64;
mod outcome;
mod plan;
mod slot;
pub mod x86;

pub use outcome::Outcome;
pub use plan::Plan;
pub use slot::{Code, Exit, Place, Progress, SLOT_SIZE, Scratch};

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
    /// An indirect branch came to an address where it may not land.
    LandingPad(u64),
}
