//! What a record of a hit has.

use std::sync::OnceLock;

use libc::user_regs_struct;

use crate::Arch;
use crate::arch::arch;
use crate::cpu;
use crate::record::ARGUMENTS;

/// The bit of `AT_HWCAP2` for `rdfsbase` in programs (asm/hwcap2.h, `HWCAP2_FSGSBASE`).
const FSGSBASE: u64 = 1 << 1;
/// The zero flag.
const ZERO: u64 = 1 << 6;
/// The carry flag.
const CARRY: u64 = 1;

/// Whether trampolines can record hits.
pub(in crate::ptrace) fn can_record() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    // SAFETY: getauxval takes a number.
    let programs_read_bases = || unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0;
    *CAN.get_or_init(|| {
        ["rdtscp", "constant_tsc", "nonstop_tsc"].into_iter().all(cpu::has_flag) && programs_read_bases()
    })
}

/// The clock of records.
pub(in crate::ptrace) fn ticks() -> u64 {
    // SAFETY: the instruction reads the time stamp counter, and nothing forbids it that a session needs.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The key of a thread in records: its base of fs.
pub(in crate::ptrace) fn thread_key(registers: &user_regs_struct) -> u64 {
    registers.fs_base
}

/// The address of the slot for which a thread in a trampoline makes a record.
pub(in crate::ptrace) fn record_slot(registers: &user_regs_struct) -> u64 {
    registers.rsi
}

/// Whether the zero flag is set.
pub(in crate::ptrace) fn is_zero(registers: &user_regs_struct) -> bool {
    registers.eflags & ZERO != 0
}

/// Whether the carry flag is set.
pub(in crate::ptrace) fn is_carry(registers: &user_regs_struct) -> bool {
    registers.eflags & CARRY != 0
}

/// The selector of 64-bit code (arch/x86/include/asm/segment.h, `__USER_CS`).
const USER_CS: u64 = 0x33;

/// The registers of a thread of 64-bit code at a site, of which the general ones have these values by their numbers in instructions.
pub(in crate::ptrace) fn recorded_registers(general: &[u64; 16], site: u64) -> user_regs_struct {
    let [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15] = *general;
    user_regs_struct {
        r15,
        r14,
        r13,
        r12,
        rbp,
        rbx,
        r11,
        r10,
        r9,
        r8,
        rax,
        rcx,
        rdx,
        rsi,
        rdi,
        orig_rax: 0,
        rip: site,
        cs: USER_CS,
        eflags: 0,
        rsp,
        ss: 0,
        fs_base: 0,
        gs_base: 0,
        ds: 0,
        es: 0,
        fs: 0,
        gs: 0,
    }
}

/// The first integer arguments and the return address of a function at its first instruction (System V ABI). `read` reads memory, and returns
/// the number of bytes.
pub(crate) fn arguments(
    registers: &user_regs_struct,
    read: impl Fn(u64, &mut [u8]) -> usize,
) -> ([u64; ARGUMENTS], Option<u64>) {
    let narrow = arch(registers) == Arch::I386;
    let size = if narrow { 4 } else { 8 };
    let word = |number: u64| {
        let mut bytes = [0; 8];
        let part = bytes.get_mut(..size)?;
        (read(registers.rsp.wrapping_add(number * size as u64), part) == size).then(|| u64::from_le_bytes(bytes))
    };
    let caller = word(0);
    if narrow {
        let mut arguments = [0; ARGUMENTS];
        for (argument, number) in arguments.iter_mut().zip(1..) {
            *argument = word(number).unwrap_or(0);
        }
        return (arguments, caller);
    }
    let of = registers;
    ([of.rdi, of.rsi, of.rdx, of.rcx, of.r8, of.r9], caller)
}
