//! Hardware traces: what a processor executed, instruction by instruction.
//!
//! A trace has the address, the bytes and the successor of every instruction that threads of a program executed, and the registers
//! before it if asked for. Traces tell a decoder or an emulator from a processor: they contain what the hardware did.
//!
//! - `Recorder` makes a trace of a program that it spawns or attaches to, by single-stepping it with ptrace(2), on Linux.
//! - [`read`] and [`Reader`] read traces, [`Writer`] writes them. docs/recording.md describes the format.
//! - [`Checker`] compares a trace with what the decoder `insn` says of its bytes.
//!
//! # Example
//!
//! ```
//! use record::{Event, EventKind, Header, Item, Machine, Next, Step, Code, Writer, read};
//! use insn::x86::{Bits, Vendor};
//!
//! let mut trace = Vec::new();
//! let mut writer = Writer::new(&mut trace, Header { machine: Machine::X86(Vendor::Amd), registers: false })?;
//! let (tid, pid) = (7, 7);
//! writer.event(&Event { tid, pid, kind: EventKind::Started { by: 0 } })?;
//! writer.event(&Event { tid, pid, kind: EventKind::Bits(Some(Bits::B64)) })?;
//! // jmp .
//! let step = Step {
//!     tid,
//!     pid,
//!     pc: 0x1000,
//!     code: Code::new(&[0xeb, 0xfe]),
//!     bits: Some(Bits::B64),
//!     next: Next::At(0x1000),
//!     registers: None,
//! };
//! for _ in 0..1000 {
//!     writer.item(&Item::Step(step))?;
//! }
//! writer.finish()?;
//! // Known code costs less than a byte per instruction.
//! assert!(trace.len() < 60);
//!
//! let steps = read(&trace)?.filter(|item| matches!(item, Ok(Item::Step(read)) if *read == step));
//! assert_eq!(steps.count(), 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! There are no features. `Recorder` exists on Linux for x86-64 and arm64.
//!
//! # Guarantees
//!
//! - Nothing in a trace is the decoder's opinion, except what the format marks as such.
//! - A reader trusts nothing. Its memory use grows with the bytes read, never with what they announce.
//! - A trace of a recorder that was killed can be read up to its last whole record.
//! - The minimal Rust version is 1.85. Raising it is a minor version change.

mod check;
mod error;
mod flow;
mod format;
mod item;
mod memory;
mod options;
mod reader;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod recorder;
mod registers;
mod varint;
mod writer;

pub use check::{Checker, Mismatch, Wrong};
pub use error::{Error, Problem, Result};
pub use item::{Code, Event, EventKind, Header, Item, Machine, Mapping, Next, REGISTERS, Registers, Step};
pub use options::{Ended, Options, Threads};
pub use reader::{Reader, read};
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use recorder::{Part, RecordError, Recorder};
pub use writer::Writer;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
