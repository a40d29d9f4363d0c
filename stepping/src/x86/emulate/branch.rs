//! Near jumps, calls, returns and loops.

use insn::x86::{Bits, Reg};

use super::access::{canonical, check, linear, read, stack, truncate, write};
use super::registers::Registers;
use super::shadow_stack;
use super::site::Emulate;
use crate::x86::class::{Destination, Loop, branch_size};
use crate::{Fault, Memory};

pub(super) fn jump(
    site: &Emulate,
    to: Destination,
    registers: &mut impl Registers,
    memory: &mut impl Memory,
) -> Result<(), Fault> {
    let target = target(site, to, registers, memory)?;
    registers.set(Reg::RIP, target);
    Ok(())
}

/// Emulates a near call. The operand is read before the push, because it may be on the stack.
pub(super) fn call(
    site: &Emulate,
    to: Destination,
    registers: &mut impl Registers,
    memory: &mut impl Memory,
) -> Result<(), Fault> {
    let size = branch_size(&site.insn);
    let target = target(site, to, registers, memory)?;
    let sp = stack(&site.insn, -i64::from(size), registers);
    check(&site.insn, sp, size, registers)?;
    // The processor pushes no shadow stack entry for a `call` to the next instruction, which only serves to read rip.
    if !registers.shadow_stack() || to == Destination::Relative(0) {
        write(sp, size, site.next(), memory)?;
    } else {
        let before = read(sp, size, memory)?;
        write(sp, size, site.next(), memory)?;
        if let Err(fault) = shadow_stack::push(site, registers, memory) {
            write(sp, size, before, memory)?;
            return Err(fault);
        }
    }
    registers.set(Reg::RSP, sp);
    registers.set(Reg::RIP, target);
    Ok(())
}

pub(super) fn ret(
    site: &Emulate,
    freed: u16,
    registers: &mut impl Registers,
    memory: &mut impl Memory,
) -> Result<(), Fault> {
    let size = branch_size(&site.insn);
    let sp = stack(&site.insn, 0, registers);
    check(&site.insn, sp, size, registers)?;
    let target = read(sp, size, memory)?;
    check_target(site, target, registers)?;
    if registers.shadow_stack() {
        shadow_stack::pop(site, target, registers, memory)?;
    }
    let sp = stack(&site.insn, i64::from(size) + i64::from(freed), registers);
    registers.set(Reg::RSP, sp);
    registers.set(Reg::RIP, target);
    Ok(())
}

/// Emulates `loop` and `jcxz`. The count register has the address size (SDM vol. 2A, LOOP/LOOPcc).
pub(super) fn count(
    site: &Emulate,
    kind: Loop,
    to: Destination,
    registers: &mut impl Registers,
    memory: &mut impl Memory,
) -> Result<(), Fault> {
    let size = site.insn.address_size();
    let rcx = registers.get(Reg::RCX);
    let old = truncate(size, rcx);
    let new = truncate(size, old.wrapping_sub(1));
    let zero = holds(ZERO, registers.get(Reg::FLAGS));
    let taken = match kind {
        Loop::WhileNotZero => new != 0 && !zero,
        Loop::WhileZero => new != 0 && zero,
        Loop::While => new != 0,
        Loop::IfCountZero => old == 0,
    };
    let rip = if taken { target(site, to, registers, memory)? } else { site.next() };
    if kind != Loop::IfCountZero {
        // A write to a 16-bit register keeps the upper bits, a write to a 32-bit register clears them.
        let kept = if size == 2 { rcx & !0xffff } else { 0 };
        registers.set(Reg::RCX, kept | new);
    }
    registers.set(Reg::RIP, rip);
    Ok(())
}

/// Condition code of `jz`.
const ZERO: u8 = 4;

/// Whether a condition code holds (SDM vol. 1, appendix B).
pub(super) fn holds(condition: u8, flags: u64) -> bool {
    let flag = |bit: u32| flags >> bit & 1 != 0;
    let (cf, pf, zf, sf, of) = (flag(0), flag(2), flag(6), flag(7), flag(11));
    let met = match condition >> 1 & 7 {
        0 => of,
        1 => cf,
        2 => zf,
        3 => cf || zf,
        4 => sf,
        5 => pf,
        6 => sf != of,
        _ => zf || sf != of,
    };
    met != (condition & 1 != 0)
}

fn target(site: &Emulate, to: Destination, registers: &impl Registers, memory: &mut impl Memory) -> Result<u64, Fault> {
    let size = branch_size(&site.insn);
    let target = match to {
        Destination::Relative(distance) => truncate(size, site.next().wrapping_add_signed(distance)),
        Destination::Absolute(address) => address,
        Destination::Register(register) => truncate(size, registers.get(register)),
        Destination::Memory(operand) => {
            let address = linear(&site.insn, site.pc, operand, registers)?;
            check(&site.insn, address, size, registers)?;
            read(address, size, memory)?
        }
    };
    check_target(site, target, registers)?;
    Ok(target)
}

fn check_target(site: &Emulate, target: u64, registers: &impl Registers) -> Result<(), Fault> {
    if site.insn.mode().bits == Bits::B64 && !canonical(target, registers) {
        return Err(Fault::NonCanonical(target));
    }
    Ok(())
}
