use std::rc::Rc;

use ubp::Address;

use super::module::Module;
use super::place::Place;
use crate::unwind::{General, Raw};

/// One frame of a thread's stack, with what is known of its registers. [`values::variables`](crate::values::variables) reads the variables there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StackFrame {
    /// The address at which the frame's function continues: the pc in the innermost frame, return addresses in the others.
    pub address: Address,
    /// What is there. In a caller the call instruction before the return address decides.
    pub place: Place,
    /// The address that decides where the frame is: an address inside the call instruction before a return address, else `address`.
    pub inside: Address,
    /// The address at which the frame of the caller begins, if that is known (`DW_OP_call_frame_cfa`).
    pub cfa: Option<Address>,
    /// Whether the thread is in this frame: no function was called from here.
    pub is_innermost: bool,
    registers: General,
    caller: Option<Rc<Caller>>,
}

/// A frame from which another one was called.
#[derive(Debug)]
pub(crate) struct Caller {
    /// The return address in memory.
    pub(crate) address: u64,
    /// The address that decides where the frame is.
    pub(crate) inside: u64,
    /// The module of the call.
    pub(crate) module: Option<Module>,
    pub(crate) registers: General,
    pub(crate) cfa: Option<u64>,
    /// The frame from which this one was called.
    pub(crate) caller: Option<Rc<Caller>>,
}

impl StackFrame {
    pub(super) fn new(raw: &Raw, place: Place, is_innermost: bool, caller: Option<Rc<Caller>>) -> StackFrame {
        let (address, inside) = (Address(raw.address), Address(raw.inside));
        StackFrame { address, place, inside, cfa: raw.cfa.map(Address), is_innermost, registers: raw.registers, caller }
    }

    /// The frame from which this one was called, if that is known.
    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller.as_deref()
    }

    /// A general register of the frame by its number in debug information, the stack pointer included. `None`: there is no such register, the
    /// functions that were called since have not kept it, or nothing tells whether they have. 32-bit programs have none.
    pub fn general(&self, number: u16) -> Option<u64> {
        self.registers.get(number)
    }
}
