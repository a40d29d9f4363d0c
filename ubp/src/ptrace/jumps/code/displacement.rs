//! The choice of displacements.

use trampoline::x86::{Displacement, TRAPPING, Trap};

/// `int3`.
const TRAP: u8 = 0xcc;

/// Displacements for a module whose last byte raises a signal of this kind, the best first. That byte decides the distance. All other bytes are
/// `int3`, which the tracer and the handler in the debuggee know how to answer.
pub(in crate::ptrace) fn displacements(last: Trap) -> impl Iterator<Item = Displacement> {
    let bytes = TRAPPING.iter().filter(move |(_, trap)| *trap == last).map(|(byte, _)| *byte);
    let bytes = bytes.filter(move |byte| last != Trap::Breakpoint || *byte == TRAP);
    bytes.filter_map(|last| Displacement::new(i32::from_le_bytes([TRAP, TRAP, TRAP, last])))
}
