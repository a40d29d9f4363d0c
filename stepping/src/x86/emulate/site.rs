//! An instruction to emulate, without a thread.

use insn::x86::Insn;

use crate::x86::Slot;
use crate::x86::class::{Class, next};

/// An instruction to emulate, with its address.
///
/// ```
/// use insn::x86::{Mode, Reg, decode};
/// use stepping::x86::{Outcome, Plan, Registers, plan};
///
/// struct Thread([u64; 128]);
/// impl Registers for Thread {
///     fn get(&self, reg: Reg) -> u64 { self.0[usize::from(reg.number())] }
///     fn set(&mut self, reg: Reg, value: u64) { self.0[usize::from(reg.number())] = value }
/// }
/// struct NoMemory;
/// impl stepping::Memory for NoMemory {
///     fn read(&mut self, address: u64, _: &mut [u8]) -> Result<(), stepping::Fault> {
///         Err(stepping::Fault::Page(address))
///     }
///     fn write(&mut self, address: u64, _: &[u8]) -> Result<(), stepping::Fault> {
///         Err(stepping::Fault::Page(address))
///     }
/// }
///
/// let mut thread = Thread([0; 128]);
/// let jump = decode(&[0xeb, 0x10], Mode::INTEL_64)?;
/// let Plan::Emulate(emulate) = plan(&jump, 0x1000) else { panic!("a jump is emulated") };
/// assert_eq!(emulate.run(&mut thread, &mut NoMemory), Ok(Outcome::Done));
/// assert_eq!(thread.get(Reg::RIP), 0x1012);
///
/// let call = decode(&[0xff, 0xd0], Mode::INTEL_64)?;
/// let Plan::Emulate(emulate) = plan(&call, 0x1000) else { panic!("a call is emulated") };
/// thread.set(Reg::RSP, 0x2000);
/// assert_eq!(emulate.run(&mut thread, &mut NoMemory), Err(stepping::Fault::Page(0x1ff8)));
/// # Ok::<(), insn::x86::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulate {
    pub(in crate::x86) insn: Insn,
    pub(in crate::x86) class: Class,
    pub(in crate::x86) pc: u64,
}

impl Emulate {
    /// Whether the instruction is the program's own breakpoint instruction.
    pub fn is_breakpoint(&self) -> bool {
        matches!(self.class, Class::Breakpoint)
    }

    /// A copy with which the processor raises the fault that [`Emulate::run`] found. The copy of a branch may only be single-stepped, as its
    /// [`Code::exit`](crate::Code::exit) says; the copy of any other instruction is complete.
    pub fn slot(&self) -> Slot {
        Slot { insn: self.insn, pc: self.pc }
    }

    pub(super) fn next(&self) -> u64 {
        next(&self.insn, self.pc)
    }
}
