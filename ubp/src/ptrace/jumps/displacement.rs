//! The choice of displacements.

use trampoline::x86::{Displacement, TRAPPING, Trap};

/// `int3`.
const TRAP: u8 = 0xcc;

/// Displacements for a module, the best first.
///
/// The best one consists of `int3`: the tracer knows how to answer these, and so does the handler in the debuggee when the tracer is gone, so
/// that it is the only one for a process that `outlives` the tracer. All others differ in the last byte, which decides the distance.
pub(in crate::ptrace) fn displacements(outlives: bool) -> impl Iterator<Item = Displacement> {
    let undefined = TRAPPING.iter().filter(|(_, trap)| *trap == Trap::Undefined).map(|(byte, _)| *byte);
    let last = [TRAP].into_iter().chain(undefined.filter(move |_| !outlives));
    last.filter_map(|last| Displacement::new(i32::from_le_bytes([TRAP, TRAP, TRAP, last])))
}
