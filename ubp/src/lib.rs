//! User breakpoints: any number of threads pass them without the breakpoint ever being lifted.
#![cfg_attr(not(feature = "std"), no_std)]

pub mod core;

#[cfg(feature = "std")]
mod address;
#[cfg(feature = "std")]
mod breakpoint;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod event;
#[cfg(feature = "std")]
mod process;
#[cfg(feature = "std")]
mod ptrace;
#[cfg(feature = "std")]
mod registers;
#[cfg(feature = "std")]
mod session;
#[cfg(feature = "std")]
mod signal;

#[cfg(feature = "std")]
pub use self::{
    address::{Address, Pid, Tid},
    breakpoint::{Breakpoint, BreakpointId, Comparison, Condition, Method, Operand, Report, Spec},
    error::{Error, InsertError, InsertReason, Result},
    event::{Event, EventKind},
    process::{Arch, Auxv, Mapping, Process},
    registers::Registers,
    session::{Options, Session, Stdio},
    signal::Signal,
};
/// The program to spawn, as the standard library describes it.
#[cfg(feature = "std")]
pub use std::process::Command;
