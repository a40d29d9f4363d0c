//! A server of gdb's remote protocol on [`ubp`]: gdb and lldb debug through it, and get breakpoints that are never lifted while threads
//! pass them.
//!
//! ```no_run
//! use std::net::TcpListener;
//! use std::process::Command;
//!
//! use gdbserver::Server;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut server = Server::new()?;
//!     server.spawn(Command::new("/bin/true"))?;
//!     // In gdb: target remote localhost:2345
//!     let (connection, _) = TcpListener::bind("localhost:2345")?.accept()?;
//!     server.serve(connection.try_clone()?.into(), connection.into())?;
//!     Ok(())
//! }
//! ```
//!
//! # What it serves
//! All-stop and non-stop mode, several processes, breakpoints (`Z0`) with conditions and commands as agent expressions, hardware
//! breakpoints and watchpoints (`Z1` to `Z4`), steps and range steps, forks, vforks and execs, system calls, signals, registers with
//! AVX-512, memory, loaded libraries, files, and programs that the client starts. A condition that compares registers or memory with
//! constants is checked by code in the program itself, where a jump fits: the program does not stop where it does not hold.
//!
//! # Who may connect
//! A client can do what the server's user can: it starts programs, and reads and writes files. The protocol has no password. So listen on
//! the loopback interface, or on a socket in a folder of your own.
//!
//! # Why not the `gdbstub` crate
//! It has no non-stop mode, no more than one process, no events of forks, and no agent expressions, and a packet that it does not know
//! cannot be added.
#![forbid(unsafe_code)]

mod agent;
mod arch;
mod error;
mod protocol;
mod server;

pub use self::error::Error;
pub use self::server::Server;
