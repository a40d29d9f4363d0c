//! Jumps in code, on any machine: what stands in their way, and the trampolines to which they lead.

pub(in crate::ptrace) mod a64;
pub(in crate::ptrace) mod displacement;
mod in_order;
pub(in crate::ptrace) mod scan;
mod survey;
pub(in crate::ptrace) mod workbench;

use trampoline::x86::JUMP_LEN;

pub use self::in_order::JumpSurveyed;
pub use self::survey::{JumpCode, JumpSurvey};

/// Bytes of a jump.
pub(in crate::ptrace) const LENGTH: u64 = JUMP_LEN as u64;
