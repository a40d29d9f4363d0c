//! Jumps at sites.

use insn::x86::Mode;
use stepping::{Fault, Memory};
use trampoline::x86::Place;

use super::{Emulated, cpu};
use crate::memory::ProcessMemory;
use crate::{Arch, Result, Tid};

/// Memory of a debuggee for what a trampoline has pushed.
struct Stack<'a>(&'a ProcessMemory);

impl Memory for Stack<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let count = self.0.read(address, buffer);
        if count == buffer.len() { Ok(()) } else { Err(Fault::Page(address.wrapping_add(count as u64))) }
    }
    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), Fault> {
        Err(Fault::Page(address))
    }
}

/// How the processor reads the code of programs that can have jumps; `None` if those of the architecture cannot.
pub(in crate::ptrace) fn jump_mode(arch: Arch) -> Option<Mode> {
    (arch == Arch::X86_64).then(|| crate::arch::mode(arch))
}

/// Whether threads can have shadow stacks, which no code but a call's writes.
pub(in crate::ptrace) fn may_have_shadow_stacks() -> bool {
    cpu::shadow_stacks()
}

/// Gives a stopped thread in a trampoline the registers that it has in the program. Returns whether the stack could be read.
pub(in crate::ptrace) fn restore_at(tid: Tid, memory: &ProcessMemory, place: &Place) -> Result<bool> {
    let mut registers = Emulated::new(tid, super::read(tid)?, false);
    if place.restore(&mut registers, &mut Stack(memory)).is_err() {
        return Ok(false);
    }
    super::write(tid, registers.raw())?;
    Ok(true)
}
