//! How a thread passes a breakpoint on one instruction.

use std::fmt::Display;

use stepping::Exit;
use ubp_symbols::Image;
use ubp_symbols::code::Mode;

use crate::{arm64, x86};

/// The distance of the slot's page from the instruction's page in bytes.
const DISTANCE: u64 = 0x1_0000;

/// How a thread passes a breakpoint on an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// The instruction is done on the thread's registers and memory.
    Emulated,
    /// The thread runs a copy that jumps back to the program: one trap for each hit.
    Boosted,
    /// The thread runs a copy with a breakpoint instruction behind it.
    Trapped,
    /// The thread runs a copy by a single step.
    Stepped,
    /// A breakpoint is impossible, and why.
    Refused(String),
}

impl Way {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Way::Emulated => "emulated",
            Way::Boosted => "boosted",
            Way::Trapped => "trapped",
            Way::Stepped => "stepped",
            Way::Refused(_) => "refused",
        }
    }

    /// The way of an instruction that runs as a copy, by how a thread leaves the copy.
    pub(crate) fn of_slot(exit: Result<Exit, impl Display>) -> Way {
        match exit {
            Ok(Exit::Jump) => Way::Boosted,
            Ok(Exit::Trap(_)) => Way::Trapped,
            Ok(_) => Way::Stepped,
            Err(reason) => Way::Refused(reason.to_string()),
        }
    }
}

/// How a thread passes a breakpoint on the instruction at an address of an image. `None`: there is no instruction.
pub fn way_at(image: &Image, mode: Mode, address: u64) -> Option<Way> {
    match mode {
        Mode::X86(mode) => x86::way_at(image.bytes_at(address)?, address, mode),
        Mode::Arm64 => arm64::way_at(address, |at| image.bytes_at(at)),
    }
}

/// Why no jump can be set at an address of an image, whatever else is mapped and set. `None`: one can, over ptrace.
pub fn no_jump_at(image: &Image, mode: Mode, address: u64) -> Option<String> {
    match mode {
        Mode::X86(mode) => x86::no_jump_at(image.bytes_at(address).unwrap_or_default(), address, mode),
        Mode::Arm64 => arm64::no_jump_at(address, |at| image.bytes_at(at)),
    }
}

/// The address of the slot that this crate assumes for an instruction. It is as near as the arenas of `ubp` usually are.
pub fn slot_address(at: u64) -> u64 {
    let page = at & !0xfff;
    page.checked_sub(DISTANCE).unwrap_or(page.wrapping_add(DISTANCE))
}
