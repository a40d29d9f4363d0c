//! What a record of a hit has.

use libc::user_regs_struct;

use crate::clock::monotonic;
use crate::record::ARGUMENTS;

/// Whether trampolines can record hits: they only count.
pub(in crate::ptrace) fn can_record() -> bool {
    false
}

/// The clock of records, in nanoseconds.
pub(in crate::ptrace) fn ticks() -> u64 {
    monotonic().as_nanos() as u64
}

/// The key of a thread in records of trampolines, which make none.
pub(in crate::ptrace) fn thread_key(_: &user_regs_struct) -> u64 {
    0
}

/// The address of the slot for which a thread in a trampoline makes a record.
pub(in crate::ptrace) fn record_slot(_: &user_regs_struct) -> u64 {
    0
}

/// Whether the zero flag is set.
pub(in crate::ptrace) fn is_zero(_: &user_regs_struct) -> bool {
    false
}

/// Whether the carry flag is set.
pub(in crate::ptrace) fn is_carry(_: &user_regs_struct) -> bool {
    false
}

/// The registers that a trampoline records, which makes no records.
pub(in crate::ptrace) fn recorded_registers(_: &[u64; 16], site: u64) -> user_regs_struct {
    user_regs_struct { regs: [0; 31], sp: 0, pc: site, pstate: 0 }
}

/// The first integer arguments and the return address of a function at its first instruction (AAPCS64).
pub(crate) fn arguments(
    registers: &user_regs_struct,
    _: impl Fn(u64, &mut [u8]) -> usize,
) -> ([u64; ARGUMENTS], Option<u64>) {
    let [a, b, c, d, e, f, ..] = registers.regs;
    let caller = registers.regs.get(30).copied();
    ([a, b, c, d, e, f], caller)
}
