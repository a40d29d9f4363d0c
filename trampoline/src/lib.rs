//! Probes without traps: the jump that stands at an instruction, and the code that acts at a hit.
//!
//! The crate is for tracers, profilers and kernels. A breakpoint instruction costs microseconds, because a thread that executes it enters the
//! kernel. A jump to a *trampoline*, code that acts and then runs the program's instructions, costs nanoseconds. From the bytes at a
//! site the crate makes the jump, the trampoline, and the meaning of each address in it. It reads and writes no memory itself.
//!
//! # Example
//!
//! ```
//! use insn::x86::Mode;
//! use trampoline::x86::{Place, Probe, Site};
//!
//! // sub $8, %rsp; call 0x2000, at 0x1000.
//! let code = [0x48, 0x83, 0xec, 0x08, 0xe8, 0xf7, 0x0f, 0, 0];
//! let site = Site { pc: 0x1000, code: &code, mode: Mode::INTEL_64, shadow_stack: false, keep_dead: false };
//! let count = Probe { arrivals: Some(0x8000), ..Probe::default() };
//! let (mut bytes, mut places) = ([0; 256], [Place::EMPTY; 64]);
//! let trampoline = site.assemble(&[count], 0x9000, &mut bytes, &mut places)?;
//! // Both instructions run in the trampoline; the call pushes the program's return address.
//! assert_eq!(trampoline.run_len(), 9);
//! # Ok::<(), trampoline::x86::Refusal>(())
//! ```
//!
//! # The model
//!
//! A jump takes more bytes than most instructions of x86, so that it covers several. Elsewhere one hopes, or analyses, that nothing jumps into
//! the covered bytes. Here it does not matter: each covered byte is one that always traps when an instruction begins with it. Whoever gets
//! there traps, and the caller sends the thread to the same place in the trampoline. See [`x86`]. On A64 an instruction is as long as a
//! branch; see [`arm64`].
//!
//! # Guarantees
//!
//! - The crate is `no_std`, depends on `insn` and `stepping` alone, allocates nothing, has no `unsafe` code and no state, and cannot panic.
//! - A site that cannot have a trampoline is refused, with a reason.
//! - The minimal Rust version is 1.85. Raising it is a minor version change.
#![no_std]
#![forbid(unsafe_code)]

pub mod arm64;
mod progress;
pub mod x86;

pub use progress::Progress;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
