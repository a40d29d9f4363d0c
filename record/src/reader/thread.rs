//! What a reader knows of a thread.

use insn::x86::Bits;

use crate::flow::Flow;
use crate::item::Registers;

/// A thread of the trace.
pub(super) struct Thread {
    pub(super) pid: u32,
    pub(super) bits: Option<Bits>,
    pub(super) pc: u64,
    pub(super) flow: Flow,
    pub(super) registers: Registers,
}
