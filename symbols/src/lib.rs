//! Symbols, source lines, modules and stacks of programs that [`ubp`] traces: what a debugger shows beside breakpoints.
//!
//! `ubp` knows addresses. This crate knows what people call them: it finds the files that are mapped in a process, reads their symbols and debug
//! information, searches functions by name and code by line, describes addresses, and finds the callers of a held thread.
//!
//! # Example
//!
//! ```
//! use std::process::{Command, Stdio};
//! use ubp::{Address, EventKind, Session, Spec};
//! use ubp_symbols::{Images, Modules, Pattern, by_name};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut session = Session::new()?;
//! let mut command = Command::new("/bin/true");
//! command.stdout(Stdio::null());
//! let pid = session.spawn(command)?;
//! session.resume(pid.leader())?;
//!
//! let (mut images, mut modules) = (Images::default(), Modules::new(pid));
//! let name = Pattern::new("exit");
//! let mut stacks = 0;
//! while let Some(event) = session.wait()? {
//!     match event.kind {
//!         EventKind::Loaded(_) | EventKind::Unloaded(_) => {
//!             // Set a breakpoint on each function of this name in the new modules.
//!             for module in modules.update(&session, &mut images)? {
//!                 let sites = by_name(&module.image, &name, 0).sites;
//!                 let at = |address| Spec::event(Address(module.in_memory(address)));
//!                 let specs: Vec<Spec> = sites.iter().map(|site| at(site.address)).collect();
//!                 session.insert(pid, &specs)?;
//!             }
//!         }
//!         EventKind::Hit { .. } => {
//!             let frames = modules.backtrace(&session, event.tid)?;
//!             assert_eq!(frames[0].place.function(), Some("exit"));
//!             stacks += 1;
//!         }
//!         _ => {}
//!     }
//!     if event.is_held() {
//!         session.resume(event.tid)?;
//!     }
//! }
//! assert_eq!(stacks, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Two debuggers of at most 100 lines are in the folder `examples`: `backtrace` shows the stack of a thread at a function, `lines` lists source
//! code and stops at a line.
//!
//! # What there is
//!
//! | item | what it does |
//! |---|---|
//! | [`Image`] | one ELF file: symbols, lines, code, instructions, unwind information; each part is read when it is first needed |
//! | [`Images`] | the files of all processes; each state of a file is read once |
//! | [`Modules`] | the modules of one process: [`Modules::update`], [`Modules::at`], [`Modules::describe`], [`Modules::backtrace`] |
//! | [`Modules::stack`] | the frames of a held thread with their registers ([`StackFrame`]) |
//! | [`Pattern`], [`by_name`] | functions by linker's name, readable name, shorter names, or glob, in C, C++, Rust and Go |
//! | [`SymbolTable`] | symbols by address |
//! | [`Elf::thread_local`] | where a variable lies of which each thread has its own |
//! | [`Lines`], [`by_line`] | source lines of an address, addresses of a line |
//! | [`by_inlined`] | the copies of a function in other functions |
//! | [`StaticProbe`], [`by_probe`] | what a program declares for tracers (USDT); [`values::operand_values`] reads the arguments there |
//! | [`demangle`], [`Names`] | names of C++ and Rust that people read |
//! | [`types`], [`Image::function`] | types, functions and parameters from debug information in C, C++, Rust and Go |
//! | [`Image::scope`] | the variables in scope at any instruction |
//! | [`values`] | values of these types in the registers and the memory of a thread: arguments, results, variables of every frame ([`values::variables`]), and values as trees ([`values::Node`]) |
//! | [`differing`] | compares code in memory with the file, before a breakpoint is set there |
//! | [`files`] | opens and reads files that nobody trusts |
//! | [`code`] | instructions of any architecture, with what every architecture can answer |
//!
//! Debug files are found by build ID and by `.gnu_debuglink`, below the root of the process, in the root of this process and in the cache of
//! debuginfod's client. Symbols also come from `.gnu_debugdata` and from the table of Go's runtime. Nothing is fetched but by what a caller
//! gives to [`Images::fetch_by`] or [`Image::fetch_by`].
//!
//! # Features
//!
//! The crate has no features. It needs Linux on x86-64 (32-bit programs included) or arm64.
//!
//! # Guarantees
//!
//! - Files and memory are not trusted. A malformed file gives an error, or its malformed part gives nothing; the memory that it takes has limits,
//!   and no file makes this crate panic: a fuzzer looks for one.
//! - Only regular files on file systems that store bytes are opened, below the root of the process. A call on a file ends at a deadline, whatever
//!   its file system does.
//! - A file that was written, replaced or deleted after it was mapped is not taken for the mapped one.
//! - The types belong to one thread, as a [`ubp::Session`] does. Reads of files are made by a thread of their own, which blocks all signals.
//! - The minimal Rust version is 1.85. Raising it is a minor version change.
//!
//! Names and paths come from files, and may contain the control characters that a terminal obeys: escape them before you print them.

pub mod code;
mod elf;
pub mod files;
mod process;
mod reader;
mod search;
mod text;
pub mod types;
mod unwind;
pub mod values;

pub use self::elf::{
    Arch, Elf, ElfError, Image, Kind, LineRow, LineSearch, Lines, Names, Needed, Segment, StaticProbe, Symbol,
    SymbolTable, ThreadLocal, demangle, short_names,
};
pub use self::process::{Frame, Images, Module, Modules, Place, StackFrame, differing};
pub use self::search::{ModuleName, Pattern, Search, Site, by_address, by_inlined, by_line, by_name, by_probe};
pub use self::text::{printable, utf8};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
