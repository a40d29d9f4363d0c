//! Hardware traces: what a processor executed, instruction by instruction, as it was single-stepped.
//!
//! [`read`] and [`Reader`] read a trace, [`Writer`] writes one, [`Checker`] compares one with what `insn` says of its bytes, and
//! [`Recorder`] makes one of a running program. docs/recording.md tells the format byte by byte.
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
//! assert!(trace.len() < 60);
//!
//! let steps = read(&trace)?.filter(|item| matches!(item, Ok(Item::Step(read)) if *read == step));
//! assert_eq!(steps.count(), 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use recorder::{RecordError, Recorder};
pub use writer::Writer;
