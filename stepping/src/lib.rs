//! How a thread passes a breakpoint on an instruction without removing it: emulate the instruction, run a copy of it elsewhere, or refuse.
//!
//! The crate is for debuggers, tracers and kernels that leave a breakpoint in place while threads pass it. It decides for each
//! instruction of x86-64, i386 and A64 how that works, writes the code for it, and says what every address in that code means. Memory and
//! registers of the thread are the caller's: see [`Memory`], [`x86::Registers`], [`arm64::Registers`].
//!
//! It is no emulator: it emulates what cannot run elsewhere (branches, calls, returns, `pushf`, `popf`, A64's `adr` and its like) and
//! leaves all other instructions to the processor, which runs a copy. An emulator that has arithmetic and memory of its own can take control flow
//! from here: [`x86::Emulate::run`] and [`arm64::Emulate::run`] work on any [`Memory`] and any registers, with shadow stacks, landing pads and
//! faults. The example `emulator` does that. [`x86::Mmio`] is for what accesses memory that is none: from the bytes at a fault to address, size,
//! direction, register or immediate and extension, and to what the instruction does. The example `device` carries out a driver's accesses.
//!
//! # Example
//!
//! ```
//! use insn::x86::{Mode, decode};
//! use stepping::x86::{Exit, Plan, Progress, plan};
//!
//! // mov 0x2000(%rip), %rax, at 0x401000, with a slot at 0x500000.
//! let insn = decode(&[0x48, 0x8b, 0x05, 0, 0x20, 0, 0], Mode::INTEL_64)?;
//! let Plan::Slot(slot) = plan(&insn, 0x401000) else { panic!("neither a branch nor refused") };
//! let code = slot.assemble(0x500000)?;
//! // The copy has a new displacement, and a jump leads back: passing costs no second trap.
//! assert_eq!(code.exit, Exit::Jump);
//! assert_eq!(code.bytes[..7], [0x48, 0x8b, 0x05, 0, 0x30, 0xf0, 0xff]);
//! // A thread that stops after the copy is shown to be after the original instruction.
//! let place = code.original(7).expect("the end of the copy");
//! assert_eq!((place.pc, place.progress), (0x401007, Progress::After));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! More examples are in the folder `examples`: `pass_a_breakpoint` emulates and assembles instructions, `refused_instructions` shows
//! which instructions cannot carry a breakpoint and why, `emulator` runs a function, `device` serves a driver.
//!
//! # The model
//!
//! Each architecture has a function `plan` ([`x86::plan`], [`arm64::plan`]) that decides from an instruction and its address
//! ([`arm64::plan_in`] also from the code around it):
//!
//! - [`Plan::Emulate`]: [`x86::Emulate::run`] does what the instruction does on the thread's registers and memory. It either completes, or
//!   changes nothing and returns the fault. The processor raises the fault itself when the thread single-steps the copy that
//!   [`x86::Emulate::slot`] makes.
//! - [`Plan::Slot`]: the thread runs a copy at another address, in a *slot* of [`SLOT_SIZE`] bytes that is written once. Most slots are
//!   *boosted*: a jump after the copy leads back, so that passing costs no second trap. [`Code::exit`] says how a thread leaves the slot,
//!   [`Code::scratch`] which register to load before it enters, and [`Code::original`] what each address in the slot means in the original
//!   code, so that signal handlers, debuggers and unwinders never see a slot.
//! - [`Plan::Refuse`]: no breakpoint can be set on the instruction, with the reason.
//!
//! [`x86`] and [`arm64`] list the plan for each class of instructions, and known deviations from the instruction's own behaviour.
//!
//! # Guarantees
//!
//! - The crate is `no_std`, depends on `insn` alone, allocates nothing, has no `unsafe` code and no state, and cannot panic.
//! - A plan is complete: who applies it needs no knowledge of instructions.
//! - An instruction that cannot be passed correctly is refused, with a reason.
//! - The minimal Rust version is 1.85. Raising it is a minor version change.
#![no_std]
#![forbid(unsafe_code)]

pub mod arm64;
mod kprobe;
mod outcome;
mod plan;
mod slot;
mod uprobe;
pub mod x86;

pub use kprobe::{Kprobe, KprobeKernel};
pub use outcome::Outcome;
pub use plan::Plan;
pub use slot::{Code, Exit, Place, Progress, SLOT_SIZE, Scratch};
pub use uprobe::Uprobe;

/// The memory of the thread at the site.
pub trait Memory {
    /// Fills `buffer` from `address` on.
    ///
    /// # Errors
    /// [`Fault::Page`] with the address of the first byte that cannot be read.
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault>;
    /// Writes `bytes` at `address`.
    ///
    /// # Errors
    /// [`Fault::Page`] with the address of the first byte that cannot be written. In that case no byte is written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault>;
    /// Writes to a shadow stack (x86) or guarded control stack (arm64), which ordinary stores cannot write.
    ///
    /// # Errors
    /// The errors of [`Memory::write`].
    fn write_shadow_stack(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.write(address, bytes)
    }
}

/// A fault that the processor would have raised instead of completing the instruction.
///
/// The caller lets the thread single-step the plan's copy ([`x86::Emulate::slot`]), so that the processor raises the fault with all
/// details. If that step completes (another thread mapped the page, the stack grew), the caller restores the registers and emulates
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Memory cannot be accessed; the address of the first such byte.
    Page(u64),
    /// An address or branch target is not canonical (x86).
    NonCanonical(u64),
    /// An access is misaligned while alignment checks are on (x86, AC in the flags).
    Alignment(u64),
    /// An access uses a null selector outside 64-bit mode (x86); the selector.
    NullSelector(u16),
    /// The instruction is undefined: it needs APX, which is not enabled (x86).
    Undefined,
    /// The return address, given here, differs from the one on the shadow stack or guarded control stack.
    ControlProtection(u64),
    /// An indirect branch led to an address, given here, that is not a suitable landing pad (arm64).
    LandingPad(u64),
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
