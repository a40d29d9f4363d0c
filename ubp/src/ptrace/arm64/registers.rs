//! The general registers of a thread; ptrace(2) reads and writes them all at once.

use libc::user_regs_struct;

use crate::ptrace::sys;
use crate::{Result, Tid};

/// linux/elf.h
const NT_PRSTATUS: i32 = 1;
/// x0 to x30, sp, pc, pstate.
const WORDS: usize = 34;
/// The kind of the branch that led to the instruction (Arm ARM, C5.2.1, BTYPE). An instruction in a guarded page that is no
/// landing pad faults after some kinds.
pub(super) const BTYPE: u64 = 3 << 10;

pub(in crate::ptrace) fn read(tid: Tid) -> Result<user_regs_struct> {
    let mut bytes = [0; 8 * WORDS];
    sys::register_set(tid, NT_PRSTATUS, &mut bytes)?;
    let mut words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    let mut next = || words.next().unwrap_or(0);
    let regs = std::array::from_fn(|_| next());
    Ok(user_regs_struct { regs, sp: next(), pc: next(), pstate: next() })
}

pub(in crate::ptrace) fn write(tid: Tid, registers: &user_regs_struct) -> Result<()> {
    let mut bytes = [0; 8 * WORDS];
    let user_regs_struct { regs, sp, pc, pstate } = *registers;
    for (place, word) in bytes.chunks_exact_mut(8).zip(regs.into_iter().chain([sp, pc, pstate])) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    sys::set_register_set(tid, NT_PRSTATUS, &bytes)
}

pub(in crate::ptrace) fn pc(tid: Tid) -> Result<u64> {
    Ok(read(tid)?.pc)
}

pub(in crate::ptrace) fn set_pc(tid: Tid, pc: u64) -> Result<()> {
    let registers = read(tid)?;
    if registers.pc == pc { Ok(()) } else { write(tid, &user_regs_struct { pc, ..registers }) }
}
