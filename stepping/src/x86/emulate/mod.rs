//! What an instruction does, done on the thread's registers and memory.

mod access;
mod branch;
mod flags;
mod shadow_stack;

use insn::x86::{Encoding, Flags, Insn, Reg};

use super::Slot;
use super::class::{Class, next};
use crate::{Fault, Memory, Outcome};

/// The registers of the thread at the site.
///
/// Asked for: the general registers, [`Reg::RIP`], [`Reg::FLAGS`], [`Reg::FS_BASE`], [`Reg::GS_BASE`], the selectors,
/// and [`Reg::SSP`] where [`Registers::shadow_stack`] says so. The flags are the program's: a trap flag that a debugger set
/// for its own stepping is not in them.
pub trait Registers {
    /// The value of `reg`, zero-extended.
    fn get(&self, reg: Reg) -> u64;
    /// Sets the whole of `reg`.
    fn set(&mut self, reg: Reg, value: u64);
    /// Whether the thread runs with a shadow stack.
    fn shadow_stack(&self) -> bool {
        false
    }
    /// Bits of a linear address: 48, or 57 with five-level paging in use.
    fn linear_address_bits(&self) -> u32 {
        48
    }
    /// Whether APX is enabled (CPUID.(7,1).EDX bit 21 and XCR0 bit 19): without it REX2 raises #UD.
    fn apx(&self) -> bool {
        false
    }
    /// What remains of a data address without the tag that the processor ignores (Intel LAM, AMD UAI).
    fn untagged(&self, address: u64) -> u64 {
        address
    }
    /// The flags that [`Registers::set`] can change. ptrace cannot change ID, which `popf` can: see [`Outcome::Slot`].
    fn settable_flags(&self) -> Flags {
        Flags::from_bits(u32::MAX)
    }
}

/// An instruction to be emulated, at its address.
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
    pub(super) insn: Insn,
    pub(super) class: Class,
    pub(super) pc: u64,
}

impl Emulate {
    /// Does what the instruction does.
    ///
    /// Segments other than fs and gs are taken as flat, as Linux makes them, and stack segments as large.
    ///
    /// # Errors
    /// The fault that the processor would raise; registers and memory are then unchanged.
    pub fn run(&self, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        if self.insn.encoding() == Encoding::Rex2 && !registers.apx() {
            return Err(Fault::Undefined);
        }
        let traced = registers.get(Reg::FLAGS) & u64::from(Flags::TF.bits()) != 0;
        match self.class {
            Class::Breakpoint => {
                registers.set(Reg::RIP, self.next());
                return Ok(Outcome::Breakpoint);
            }
            Class::PushFlags => flags::push(self, registers, memory)?,
            Class::PopFlags => {
                if flags::pop(self, registers, memory)? == Outcome::Slot {
                    return Ok(Outcome::Slot);
                }
            }
            Class::Jump(to) => branch::jump(self, to, registers, memory)?,
            Class::ConditionalJump(condition, to) => {
                if branch::holds(condition, registers.get(Reg::FLAGS)) {
                    branch::jump(self, to, registers, memory)?;
                } else {
                    registers.set(Reg::RIP, self.next());
                }
            }
            Class::Loop(kind, to) => branch::count(self, kind, to, registers, memory)?,
            Class::Call(to) => branch::call(self, to, registers, memory)?,
            Class::Return(freed) => branch::ret(self, freed, registers, memory)?,
            // `nop`; plan() makes an Emulate of no other class.
            _ => registers.set(Reg::RIP, self.next()),
        }
        Ok(if traced { Outcome::SingleStep } else { Outcome::Done })
    }

    /// Whether it is the program's own breakpoint instruction.
    pub fn is_breakpoint(&self) -> bool {
        matches!(self.class, Class::Breakpoint)
    }

    /// A copy to make the processor raise the fault that [`Emulate::run`] met. A branch's may only be single-stepped (its
    /// [`Code::exit`](super::Code::exit) says so), that of any other instruction is complete.
    pub fn slot(&self) -> Slot {
        Slot { insn: self.insn, pc: self.pc }
    }

    fn next(&self) -> u64 {
        next(&self.insn, self.pc)
    }
}
