//! The recorder's knowledge of arm64.

mod class;
mod halts;
mod sequence;
mod unreadable;

use std::io;

use insn::x86::Bits;
use libc::user_regs_struct;

pub(super) use self::class::{Class, class};
pub(super) use self::halts::stop_at;
use self::sequence::Sequence;
pub(super) use self::unreadable::is_unreadable;
use super::process::Process;
use super::sys::{self, TRAP_TRACE};
use super::thread::Before;
use crate::item::{Machine, Registers};

/// `NT_PRSTATUS` (linux/elf.h): x0 to x30, sp, pc, pstate.
const NT_PRSTATUS: usize = 1;
const WORDS: usize = 34;
/// `si_code` of a hardware breakpoint (asm-generic/siginfo.h).
const TRAP_HWBKPT: i32 = 4;

/// System calls that change mappings (asm-generic/unistd.h): shmat, shmdt, munmap, mremap, mmap, mprotect, pkey_mprotect.
const MAPPING: [u64; 7] = [196, 197, 215, 216, 222, 226, 288];
const RT_SIGRETURN: u64 = 139;
/// Values that an interrupted system call returns to restart (linux/errno.h).
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;
/// Bytes of `svc`.
pub(super) const CALL_LENGTH: u64 = 4;
/// A thread that a signal interrupted in a system call that will restart has been put before the call when it stops for the signal
/// (arch/arm64/kernel/signal.c, `do_signal`).
pub(super) const STANDS_BEHIND_CALL: bool = false;

/// This machine.
pub(super) fn machine() -> Machine {
    Machine::Arm64
}

pub(super) fn registers(tid: u32) -> io::Result<user_regs_struct> {
    let mut words = [0_u64; WORDS];
    register_set(tid, NT_PRSTATUS, &mut words)?;
    let regs = std::array::from_fn(|at| words[at]);
    let [.., sp, pc, pstate] = words;
    Ok(user_regs_struct { regs, sp, pc, pstate })
}

pub(super) fn pc(registers: &user_regs_struct) -> u64 {
    registers.pc
}

pub(super) fn stack(registers: &user_regs_struct) -> u64 {
    registers.sp
}

/// The same registers with another pc.
pub(super) fn moved(registers: &user_regs_struct, pc: u64) -> user_regs_struct {
    user_regs_struct { pc, ..*registers }
}

/// The width of addresses; 32-bit programs are not recorded (PSTATE.nRW, Arm ARM C5.2.18).
pub(super) fn bits(registers: &user_regs_struct) -> Option<Bits> {
    const NOT_64: u64 = 1 << 4;
    (registers.pstate & NOT_64 == 0).then_some(Bits::B64)
}

/// Registers in the order of a trace.
pub(super) fn recorded(r: &user_regs_struct) -> Registers {
    let mut all = Registers::default();
    let held = r.regs.iter().chain([&r.sp, &r.pstate]);
    for (place, value) in all.0.iter_mut().zip(held) {
        *place = *value;
    }
    all
}

/// The number of the system call that a thread enters.
pub(super) fn call_number(registers: &user_regs_struct) -> u64 {
    registers.regs[8]
}

/// Whether a system call changes mappings.
pub(super) fn changes_mappings(number: u64, _: Option<Bits>) -> bool {
    MAPPING.contains(&number)
}

/// Whether the system call that a thread has left will restart, unless a signal handler runs first.
pub(super) fn may_restart(registers: &user_regs_struct, _: Option<Option<Bits>>) -> bool {
    RESTARTS.contains(&(registers.regs[0] as i64))
}

/// The registers at a stop at a system call, which shows in x7 whether the call begins or ends (arch/arm64/kernel/ptrace.c,
/// `report_syscall`).
pub(super) fn shown(now: &user_regs_struct, before: &user_regs_struct) -> user_regs_struct {
    let mut now = *now;
    now.regs[7] = before.regs[7];
    now
}

/// Whether only another stop shows the registers after the thread's system call: a return from a signal handler
/// changes x7. Such a call does not restart.
pub(super) fn hides_registers(before: &user_regs_struct) -> bool {
    before.regs[8] == RT_SIGRETURN
}

/// Whether a SIGTRAP with this `si_code` is the end of a step.
pub(super) fn ends_step(code: i32, before: &Before) -> bool {
    code == TRAP_TRACE || code == TRAP_HWBKPT && before.class == Class::Exclusive
}

/// Whether the program single-steps itself, which is impossible on arm64.
pub(super) fn steps_itself(_: &user_regs_struct) -> bool {
    false
}

/// Whether the kernel must forget after this instruction that the thread was stepped. Never: no register of the program has the flag.
pub(super) fn takes_step_for_programs(_: Class) -> bool {
    false
}

/// Takes back the traces of stepping in the registers. There are none.
pub(super) fn undo_step(_: u32, _: &Before, _: &user_regs_struct) -> io::Result<()> {
    Ok(())
}

/// Takes back the traces of stepping in memory. There are none.
pub(super) fn hide_step(_: &Process, _: &Before, _: &user_regs_struct) -> io::Result<()> {
    Ok(())
}

/// The addresses of the instructions that ran after the present one in the same step.
pub(super) fn unseen(process: &Process, before: &Before, now: &user_regs_struct) -> Vec<u64> {
    sequence(process, before).map_or_else(Vec::new, |sequence| sequence.way(now.pc))
}

/// The addresses at which to stop a thread that cannot be stepped from this instruction on. Each exception clears the exclusive monitor
/// (Arm ARM B2.12), so a stepped store-exclusive would fail for ever.
pub(super) fn exits(process: &Process, before: &Before) -> Vec<u64> {
    sequence(process, before).map_or_else(Vec::new, |sequence| sequence.exits())
}

fn sequence(process: &Process, before: &Before) -> Option<Sequence> {
    let read = |address| process.read(address).ok().map(u32::from_le_bytes);
    if before.class == Class::Exclusive { Sequence::from(before.registers.pc, read) } else { None }
}

/// Reads a register set into `words`. Words beyond the set stay as they are.
fn register_set(tid: u32, note: usize, words: &mut [u64]) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: size_of_val(words) };
    sys::ptrace(libc::PTRACE_GETREGSET, tid, note, &raw mut part as usize)
}

/// Writes the first words of a register set.
fn set_register_set(tid: u32, note: usize, words: &[u64]) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: words.as_ptr().cast_mut().cast(), iov_len: size_of_val(words) };
    sys::ptrace(libc::PTRACE_SETREGSET, tid, note, &raw mut part as usize)
}
