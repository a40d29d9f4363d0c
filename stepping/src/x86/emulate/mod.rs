//! Emulation of instructions on a thread's registers and memory.

mod access;
mod branch;
mod flags;
mod registers;
mod shadow_stack;
mod site;

use insn::x86::{Encoding, Flags, Reg};

use super::class::Class;
use crate::{Fault, Memory, Outcome};

pub(in crate::x86) use access::{check, linear, read, write};
pub use registers::Registers;
pub use site::Emulate;

impl Emulate {
    /// Does what the instruction does.
    ///
    /// Segments other than fs and gs are assumed to be flat and stacks to be 32 or 64 bits wide, as on Linux.
    ///
    /// # Errors
    /// The fault that the processor would raise. Registers and memory are unchanged then.
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
            // `nop`: plan() emulates no other class.
            _ => registers.set(Reg::RIP, self.next()),
        }
        Ok(if traced { Outcome::SingleStep } else { Outcome::Done })
    }
}
