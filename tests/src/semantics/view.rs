//! A thread's registers by their numbers in `insn`.

use insn::x86::{Flags, Reg};
use libc::user_regs_struct;

use crate::Random;
use crate::lockstep::{POINTERS, RANDOM_COMPONENTS, State, component_element, component_range, field, visible};

/// Bytes of the widest register.
pub(super) const WIDEST: usize = 64;

/// The value of each register, zero-extended, by [`Reg::number`].
#[derive(Clone)]
pub(super) struct View {
    values: Vec<[u8; WIDEST]>,
}

/// Registers that a thread can see and that can be set from outside.
pub(super) fn registers() -> impl Iterator<Item = Reg> {
    let banks = (0..16).map(Reg::gpr).chain((0..32).map(Reg::vector)).chain((0..8).map(Reg::mask));
    banks.chain((0..8).map(Reg::mmx)).chain((0..6).map(Reg::segment)).chain(SINGLE)
}

const SINGLE: [Reg; 5] = [Reg::FLAGS, Reg::MXCSR, Reg::X87, Reg::FS_BASE, Reg::GS_BASE];

/// Where the bytes of a register lie in the XSAVE area, with their number.
///
/// Control, status and tag words of the x87 are one; its pointers are left out, as a context switch on AMD lets go of them.
fn parts(reg: Reg, top: usize) -> [(usize, usize); 3] {
    let one = |part| [part, (0, 0), (0, 0)];
    let number = usize::from(reg.number());
    match number {
        _ if reg == Reg::MXCSR => one((24, 4)),
        _ if reg == Reg::X87 => one((0, POINTERS.start)),
        32..48 => {
            let n = number - 32;
            [(160 + 16 * n, 16), component_element(2, n, 16), component_element(6, n, 32)]
        }
        48..64 => one(component_element(7, number - 48, 64)),
        64..72 => one(component_element(5, number - 64, 8)),
        // Physical registers; the area has them from the top of the stack on.
        72..80 => one((32 + 16 * ((number - 72).wrapping_sub(top) & 7), 10)),
        _ => [(0, 0); 3],
    }
}

/// Whether the processor has the register's part of the area at this offset.
fn exists(state: &State, start: usize) -> bool {
    let components = state.xcr0() & RANDOM_COMPONENTS;
    start < 512
        || (2..8).any(|component| {
            components >> component & 1 != 0 && component_range(component).is_some_and(|range| range.contains(&start))
        })
}

impl View {
    pub(super) fn of(state: &State) -> View {
        let mut values = vec![[0; WIDEST]; 128];
        let top = top(&state.xstate);
        let regs = visible(&state.regs);
        for reg in registers() {
            let value = &mut values[usize::from(reg.number())];
            if let Some(word) = word(&regs, reg) {
                value[..8].copy_from_slice(&word.to_le_bytes());
                continue;
            }
            let mut at = 0;
            for (start, len) in parts(reg, top) {
                if exists(state, start) {
                    value[at..at + len].copy_from_slice(&state.xstate[start..start + len]);
                }
                at += len;
            }
        }
        View { values }
    }

    pub(super) fn value(&self, reg: Reg) -> &[u8; WIDEST] {
        &self.values[usize::from(reg.number())]
    }
}

/// Number of the x87 register on top of the stack.
fn top(xstate: &[u8]) -> usize {
    usize::from(xstate[3] >> 3 & 7)
}

/// The value of a register that ptrace has as a word.
fn word(regs: &user_regs_struct, reg: Reg) -> Option<u64> {
    Some(match reg {
        Reg::FLAGS => regs.eflags & !u64::from(Flags::RF.bits()),
        Reg::FS_BASE => regs.fs_base,
        Reg::GS_BASE => regs.gs_base,
        Reg::ES => regs.es,
        Reg::CS => regs.cs,
        Reg::SS => regs.ss,
        Reg::DS => regs.ds,
        Reg::FS => regs.fs,
        Reg::GS => regs.gs,
        _ => *field(&mut regs.clone(), Reg::gpr(reg.as_gpr()?))?,
    })
}

/// Makes the register another, where that alone cannot make a difference: see each.
/// What it cannot change so stays: selectors, x87 exceptions, MXCSR's alignment mode and the flags that are not arithmetic.
pub(super) fn change(state: &mut State, reg: Reg, flags: Flags, wide: bool, rng: &mut Random) {
    let limit = if wide { u64::MAX } else { u64::from(u32::MAX) };
    match reg {
        Reg::FLAGS => {
            state.regs.eflags ^= rng.next() & u64::from(flags.bits());
        }
        Reg::FS_BASE if wide => state.regs.fs_base = state.layout.data + rng.below(0x4000),
        Reg::GS_BASE if wide => state.regs.gs_base = state.layout.data + rng.below(0x4000),
        Reg::ES if wide => state.regs.es = rng.one_of(&[0, 0x2b]),
        Reg::DS if wide => state.regs.ds = rng.one_of(&[0, 0x2b]),
        Reg::MXCSR => state.set_mxcsr(rng.next() as u32 & 0xffff),
        Reg::X87 => change_x87(state, rng),
        _ if reg.as_gpr().is_some_and(|number| number < 8 || wide && number < 16) => {
            *state.gpr_mut(reg.number()) = rng.next() & limit;
        }
        _ => {
            for (start, len) in parts(reg, top(&state.xstate)) {
                if exists(state, start) {
                    rng.fill(&mut state.xstate[start..start + len]);
                }
            }
        }
    }
}

/// Another control word, condition codes, top of the stack and pointers; the registers stay where they are.
fn change_x87(state: &mut State, rng: &mut Random) {
    let before = top(&state.xstate);
    let physical: Vec<u8> =
        (0_usize..8).flat_map(|n| state.xstate[32 + 16 * (n.wrapping_sub(before) & 7)..][..16].to_vec()).collect();
    let control = 0x7f | rng.next() as u16 & 0xf00;
    state.xstate[0..2].copy_from_slice(&control.to_le_bytes());
    let status = rng.next() as u16 & 0x7f00;
    state.xstate[2..4].copy_from_slice(&status.to_le_bytes());
    state.xstate[4] = rng.byte();
    rng.fill(&mut state.xstate[6..8]);
    state.xstate[7] &= 7;
    for pointer in [8, 16] {
        state.xstate[pointer..pointer + 8].copy_from_slice(&(rng.next() >> 17).to_le_bytes());
    }
    let after = top(&state.xstate);
    for n in 0..8 {
        let at = 32 + 16 * ((n as usize).wrapping_sub(after) & 7);
        state.xstate[at..at + 16].copy_from_slice(&physical[16 * n as usize..][..16]);
    }
}
