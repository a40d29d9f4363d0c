//! The recorder's knowledge of x86.

mod class;
mod unreadable;

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;

use insn::x86::{Bits, Mode, Vendor, decode};
use libc::user_regs_struct;

pub(super) use self::class::{Class, class};
pub(super) use self::unreadable::is_unreadable;
use super::process::Process;
use super::sys::{self, TRAP_BRKPT, TRAP_TRACE};
use super::thread::Before;
use crate::item::{Code, Machine, REGISTERS, Registers};

/// The trap flag.
const TF: u64 = 1 << 8;
/// Linux' selectors of user code (arch/x86/include/asm/segment.h), and the bit of those of a table of the process' own.
const USER_CS: u64 = 0x33;
const USER32_CS: u64 = 0x23;

/// System calls that change mappings, of 64-bit and of 32-bit programs: mmap, mprotect, munmap, mremap, shmat, shmdt, and
/// pkey_mprotect.
const MAPPING_64: [u64; 7] = [9, 10, 11, 25, 30, 67, 329];
const MAPPING_32: [u64; 8] = [90, 91, 117, 125, 163, 192, 380, 397];
/// Values that an interrupted system call returns to restart (linux/errno.h).
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;
/// Bytes of every instruction that makes a system call, as the kernel reckons.
pub(super) const CALL_LENGTH: u64 = 2;
/// A thread that a signal interrupted in a system call that will restart stands behind the call until it goes on.
pub(super) const STANDS_BEHIND_CALL: bool = true;

/// This machine.
pub(super) fn machine() -> Machine {
    // Newer versions of Rust call it safe.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has `cpuid`, and the leaf 0.
    let id = unsafe { core::arch::x86_64::__cpuid(0) };
    let words = [id.ebx, id.edx, id.ecx].map(u32::to_le_bytes);
    let is_amd = matches!(words.as_flattened(), b"AuthenticAMD" | b"HygonGenuine");
    Machine::X86(if is_amd { Vendor::Amd } else { Vendor::Intel })
}

pub(super) fn registers(tid: u32) -> io::Result<user_regs_struct> {
    let mut out = MaybeUninit::<user_regs_struct>::uninit();
    sys::ptrace(libc::PTRACE_GETREGS, tid, 0, out.as_mut_ptr() as usize)?;
    // SAFETY: the kernel filled the whole structure.
    Ok(unsafe { out.assume_init() })
}

pub(super) fn pc(registers: &user_regs_struct) -> u64 {
    registers.rip
}

pub(super) fn stack(registers: &user_regs_struct) -> u64 {
    registers.rsp
}

/// The same registers with another pc.
pub(super) fn moved(registers: &user_regs_struct, pc: u64) -> user_regs_struct {
    user_regs_struct { rip: pc, ..*registers }
}

/// The width of the code segment.
pub(super) fn bits(registers: &user_regs_struct) -> Option<Bits> {
    match registers.cs {
        USER_CS => Some(Bits::B64),
        USER32_CS => Some(Bits::B32),
        _ => None,
    }
}

/// Registers in the order of a trace.
pub(super) fn recorded(r: &user_regs_struct) -> Registers {
    let mut all = [0; REGISTERS];
    let held = [
        r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15,
        r.eflags, r.fs_base, r.gs_base,
    ];
    all[..held.len()].copy_from_slice(&held);
    Registers(all)
}

/// The number of the system call that a thread enters.
pub(super) fn call_number(registers: &user_regs_struct) -> u64 {
    registers.orig_rax
}

/// Whether a system call changes mappings.
pub(super) fn changes_mappings(number: u64, bits: Option<Bits>) -> bool {
    if bits == Some(Bits::B64) { MAPPING_64.contains(&number) } else { MAPPING_32.contains(&number) }
}

/// Whether the system call that a thread has left will restart, unless a signal handler runs first.
pub(super) fn may_restart(registers: &user_regs_struct, bits: Option<Option<Bits>>) -> bool {
    let result = match bits {
        Some(Some(Bits::B64)) | None => registers.rax as i64,
        _ => i64::from(registers.rax as i32),
    };
    registers.orig_rax as i64 >= 0 && RESTARTS.contains(&result)
}

/// The registers at a stop at a system call, which are the program's.
pub(super) fn shown(now: &user_regs_struct, _: &user_regs_struct) -> user_regs_struct {
    *now
}

/// Whether only another stop shows the registers after a system call.
pub(super) fn hides_registers(_: &user_regs_struct) -> bool {
    false
}

/// Whether a SIGTRAP with this `si_code` is the end of a step.
pub(super) fn ends_step(code: i32, before: &Before) -> bool {
    // The kernel was entered in a way that the recorder does not know.
    let is_entry = code == TRAP_BRKPT && !is_int1(before.code);
    code == TRAP_TRACE || is_entry
}

fn is_int1(code: Code) -> bool {
    decode(code.bytes(), Mode::new(Bits::B64, Vendor::Amd)).is_ok_and(|insn| insn.opcode() == 0xf1)
}

/// Whether the program single-steps itself.
pub(super) fn steps_itself(registers: &user_regs_struct) -> bool {
    registers.eflags & TF != 0
}

/// Whether the kernel must forget after this instruction that the thread was stepped. After `popf` it would take the trap flag that it sets
/// for the program's own (enable_single_step in arch/x86/kernel/step.c).
pub(super) fn takes_step_for_programs(class: Class) -> bool {
    class == Class::PopFlags
}

/// Takes back the traces of stepping in the registers of a thread that has not moved.
pub(super) fn undo_step(tid: u32, before: &Before, now: &user_regs_struct) -> io::Result<()> {
    // The kernel takes the flag that it has set before `popf` for the program's.
    if before.class == Class::PopFlags && !steps_itself(&before.registers) && steps_itself(now) {
        let flags = std::mem::offset_of!(user_regs_struct, eflags);
        return sys::ptrace(libc::PTRACE_POKEUSER, tid, flags, (now.eflags & !TF) as usize);
    }
    Ok(())
}

/// Takes the trap flag that stepping sets out of what `pushf` has pushed.
pub(super) fn hide_step(process: &Process, before: &Before, now: &user_regs_struct) -> io::Result<()> {
    if before.class != Class::PushFlags || steps_itself(&before.registers) {
        return Ok(());
    }
    let top = if bits(now) == Some(Bits::B64) { now.rsp } else { now.rsp & 0xffff_ffff };
    let at = top.wrapping_add(1);
    let [byte] = process.read(at)?;
    process.memory.write_all_at(&[byte & !((TF >> 8) as u8)], at)
}

/// The addresses of the instructions that ran after the present one in the same step.
pub(super) fn unseen(process: &Process, before: &Before, now: &user_regs_struct) -> Vec<u64> {
    let pc = before.registers.rip;
    let middle = match before.class {
        Class::WithNext => {
            let is_64_bit = bits(&before.registers) == Some(Bits::B64);
            let mode = Mode::new(if is_64_bit { Bits::B64 } else { Bits::B32 }, Vendor::Amd).lenient();
            decode(before.code.bytes(), mode).ok().map(|insn| pc.wrapping_add(insn.len() as u64))
        }
        // The kernel emulates the whole call, as a return.
        _ if is_unreadable(pc) => process.read(now.rsp.wrapping_sub(8)).ok().map(u64::from_le_bytes),
        _ => None,
    };
    middle.filter(|&middle| middle != now.rip).into_iter().collect()
}

/// The addresses at which to stop a thread that cannot be stepped from this instruction on. There are none on x86.
pub(super) fn exits(_: &Process, _: &Before) -> Vec<u64> {
    Vec::new()
}

/// Makes a thread stop at these addresses, of which there are none on x86.
pub(super) fn stop_at(_: u32, _: &[u64]) -> io::Result<()> {
    Ok(())
}
