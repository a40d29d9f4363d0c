//! Emulation of instructions on a thread's registers and memory.

mod branch;
mod control_stack;
mod landing;
mod registers;

use insn::arm64::{Insn, PcRelative, Reg};

use super::Slot;
use super::class::{Class, Literal, class, next};
use crate::{Fault, Memory, Outcome};
use registers::{read, write};

pub use registers::Registers;

/// An instruction to emulate, with its address.
///
/// ```
/// use insn::arm64::{Reg, decode};
/// use stepping::arm64::{Outcome, Plan, Registers, plan};
///
/// struct Thread { values: [u64; 128], branch_type: u8 }
/// impl Registers for Thread {
///     fn get(&self, reg: Reg) -> u64 { self.values[usize::from(reg.number())] }
///     fn set(&mut self, reg: Reg, value: u64) { self.values[usize::from(reg.number())] = value }
///     fn branch_type(&self) -> u8 { self.branch_type }
///     fn set_branch_type(&mut self, branch_type: u8) { self.branch_type = branch_type }
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
/// // bl .+0x10
/// let mut thread = Thread { values: [0; 128], branch_type: 0 };
/// let Plan::Emulate(emulate) = plan(&decode(0x9400_0004)?, 0x1000) else { panic!("a call is emulated") };
/// assert_eq!(emulate.run(&mut thread, &mut NoMemory), Ok(Outcome::Done));
/// assert_eq!((thread.get(Reg::PC), thread.get(Reg::X30)), (0x1010, 0x1004));
///
/// // ldr x0, .+8
/// let Plan::Emulate(emulate) = plan(&decode(0x5800_0040)?, 0x1000) else { panic!("so is this") };
/// assert_eq!(emulate.run(&mut thread, &mut NoMemory), Err(stepping::Fault::Page(0x1008)));
/// # Ok::<(), insn::arm64::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulate {
    pub(super) insn: Insn,
    pub(super) pc: u64,
}

impl Emulate {
    /// Does what the instruction does.
    ///
    /// # Errors
    /// The fault that the processor would raise. Registers and memory are unchanged then. A branch to an address that cannot be executed
    /// does not fault itself; the instruction fetch at its target does.
    pub fn run(&self, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<Outcome, Fault> {
        let class = class(&self.insn);
        if class == Class::Breakpoint {
            return Ok(Outcome::Breakpoint);
        }
        if registers.guarded() && !landing::allows(&self.insn, registers.branch_type()) {
            return Err(Fault::LandingPad(self.pc));
        }
        let mut target = next(self.pc);
        let mut branch_type = 0;
        match class {
            Class::Address(register) => {
                if let Some(meant @ (PcRelative::Address { .. } | PcRelative::Page { .. })) = self.insn.pc_relative() {
                    write(registers, register, meant.address(self.pc));
                }
            }
            Class::Literal(literal) => load(self.pc, literal, registers, memory)?,
            Class::Jump(test, distance) if branch::holds(test, registers) => {
                target = self.pc.wrapping_add_signed(distance);
            }
            Class::Call(distance) => {
                target = self.pc.wrapping_add_signed(distance);
                branch::link(self.pc, registers, memory)?;
            }
            Class::JumpTo(register) => {
                target = read(registers, register);
                branch_type = landing::of_jump(register, registers.guarded());
            }
            Class::CallTo(register) => {
                target = read(registers, register);
                branch_type = landing::OF_CALL;
                branch::link(self.pc, registers, memory)?;
            }
            Class::Return(register) => {
                target = read(registers, register);
                control_stack::pop(target, registers, memory)?;
            }
            // `nop`, `bti` and jumps not taken: plan() emulates no other class.
            _ => {}
        }
        registers.set_branch_type(branch_type);
        let target = registers.untagged(target);
        registers.set(Reg::PC, target);
        Ok(Outcome::Done)
    }

    /// Whether the instruction is the program's own breakpoint instruction.
    pub fn is_breakpoint(&self) -> bool {
        class(&self.insn) == Class::Breakpoint
    }

    /// A copy with which the processor raises the fault that [`Emulate::run`] found. The copy of a call may only be single-stepped, as its
    /// [`Code::exit`](crate::Code::exit) says; the copy of any other instruction is complete.
    pub fn slot(&self) -> Slot {
        Slot { insn: self.insn, pc: self.pc }
    }
}

/// Loads a literal in one read of memory.
fn load(pc: u64, literal: Literal, registers: &mut impl Registers, memory: &mut impl Memory) -> Result<(), Fault> {
    let mut bytes = [0; 8];
    if let Some(wanted) = bytes.get_mut(..usize::from(literal.size)) {
        memory.read(registers.untagged(pc.wrapping_add_signed(literal.distance)), wanted)?;
    }
    let value = u64::from_le_bytes(bytes);
    write(registers, literal.register, if literal.signed { value as i32 as u64 } else { value });
    Ok(())
}
