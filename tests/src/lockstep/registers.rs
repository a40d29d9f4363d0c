//! A stopped child's registers and memory as stepping's traits want them.

use insn::x86::{Flags, Reg};
use libc::{pid_t, user_regs_struct};
use stepping::x86::Registers;
use stepping::{Fault, Memory};

use super::sys;

pub(super) struct Thread<'a>(pub(super) &'a mut user_regs_struct);

/// The register's field in the kernel's structure.
pub(crate) fn field(regs: &mut user_regs_struct, reg: Reg) -> Option<&mut u64> {
    let banks = [
        &mut regs.rax,
        &mut regs.rcx,
        &mut regs.rdx,
        &mut regs.rbx,
        &mut regs.rsp,
        &mut regs.rbp,
        &mut regs.rsi,
        &mut regs.rdi,
        &mut regs.r8,
        &mut regs.r9,
        &mut regs.r10,
        &mut regs.r11,
        &mut regs.r12,
        &mut regs.r13,
        &mut regs.r14,
        &mut regs.r15,
    ];
    if let Some(number) = reg.as_gpr() {
        return banks.into_iter().nth(usize::from(number));
    }
    Some(match reg {
        Reg::RIP => &mut regs.rip,
        Reg::FLAGS => &mut regs.eflags,
        Reg::FS_BASE => &mut regs.fs_base,
        Reg::GS_BASE => &mut regs.gs_base,
        Reg::CS => &mut regs.cs,
        Reg::SS => &mut regs.ss,
        Reg::DS => &mut regs.ds,
        Reg::ES => &mut regs.es,
        Reg::FS => &mut regs.fs,
        Reg::GS => &mut regs.gs,
        _ => return None,
    })
}

impl Registers for Thread<'_> {
    fn get(&self, reg: Reg) -> u64 {
        let mut copy = *self.0;
        *field(&mut copy, reg).unwrap_or_else(|| panic!("{reg} was asked for"))
    }

    fn set(&mut self, reg: Reg, value: u64) {
        *field(self.0, reg).unwrap_or_else(|| panic!("{reg} was set")) = value;
    }

    /// What PTRACE_SETREGS lets through (arch/x86/kernel/ptrace.c, FLAG_MASK).
    fn settable_flags(&self) -> Flags {
        Flags::STATUS.union(Flags::TF).union(Flags::DF).union(Flags::RF).union(Flags::AC).union(Flags::NT)
    }
}

pub(super) struct Process(pub(super) pid_t);

impl Memory for Process {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let wanted = buffer.len();
        match sys::access(self.0, address, buffer, false) {
            done if done == wanted => Ok(()),
            done => Err(Fault::Page(address.wrapping_add(done as u64))),
        }
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let mut before = bytes.to_vec();
        self.read(address, &mut before)?;
        match sys::access(self.0, address, &mut bytes.to_vec(), true) {
            done if done == bytes.len() => Ok(()),
            done => {
                sys::access(self.0, address, &mut before[..done], true);
                Err(Fault::Page(address.wrapping_add(done as u64)))
            }
        }
    }
}
