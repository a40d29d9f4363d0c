//! Where a jump takes the place of a kprobe's trap (arch/x86/kernel/kprobes/opt.c of Linux 7.3).

use core::fmt;
use core::ops::Range;

use insn::x86::{Encoding, Insn, Map, Mode, decode};

use super::kprobe_at::{FTRACE_LEN, instructions};
use super::kprobes::{KprobeRefusal, is_boostable, refusal};
use super::uprobes::first_byte;
use crate::KprobeKernel;
use crate::kprobe::{has, overlapping};

/// The jump that takes the place of a trap, in bytes.
const JUMP_LEN: u64 = 5;

/// Why a kprobe of x86 stays a trap. Addresses are those of the instruction that is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotOptimized {
    /// The function ends within the five bytes of a jump.
    FunctionEnds,
    /// An instruction of the function may fault, and what handles the fault may continue within the jump.
    Fixup(u64),
    /// The bytes there, somewhere in the function, are no instruction.
    Undecodable(u64),
    /// An instruction of the function jumps to where the jump would be, or to its end.
    JumpsInto(u64),
    /// An instruction of the function jumps to an address in a register or in memory, and the kernel has [`KprobeKernel::jump_tables`].
    IndirectJump(u64),
    /// An instruction that the jump would cover cannot be copied.
    NotCopied(u64),
    /// An instruction that the jump would cover cannot run as a copy that jumps back.
    NotBoosted(u64),
    /// An instruction that the jump would cover is rewritten by ftrace.
    Traced(u64),
    /// An instruction that the jump would cover is rewritten by a jump label or static call.
    Patched(u64),
}

/// What may keep kprobes of a function from being optimised, of one of its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The instruction at `at` jumps to `to`: no jump may be within five bytes before that address.
    Jump {
        /// The address of the instruction.
        at: u64,
        /// The address that it jumps to.
        to: u64,
    },
    /// No kprobe of the function is optimised.
    Everywhere(NotOptimized),
}

/// The addresses of the instructions that a jump in the place of a kprobe's trap covers, or why there is none. `pc` is an address that has a
/// kprobe by [`kprobe_at`](super::kprobe_at()), whose other arguments are the same.
///
/// The kernel does the same for a kprobe that is enabled and has no `post_handler`, if no other one is armed within the range, and if
/// `debug.kprobes-optimization` is 1.
///
/// # Errors
/// The kprobe stays a trap, for the first reason in the order in which the kernel looks.
pub fn optimized(
    code: &[u8],
    start: u64,
    pc: u64,
    mode: Mode,
    kernel: &KprobeKernel<'_>,
) -> Result<Range<u64>, NotOptimized> {
    optimized_despite(obstacles(code, start, mode, kernel), code, start, pc, mode, kernel)
}

/// The same for callers that ask about many addresses of a function and have its [`obstacles`], by address. Jumps to elsewhere may be left out.
///
/// # Errors
/// Those of [`optimized`].
pub fn optimized_despite(
    obstacles: impl IntoIterator<Item = Obstacle>,
    code: &[u8],
    start: u64,
    pc: u64,
    mode: Mode,
    kernel: &KprobeKernel<'_>,
) -> Result<Range<u64>, NotOptimized> {
    if has(kernel.ftrace, pc) {
        return Err(NotOptimized::Traced(pc));
    }
    let offset = pc.wrapping_sub(start);
    if (code.len() as u64).saturating_sub(offset) < JUMP_LEN {
        return Err(NotOptimized::FunctionEnds);
    }
    for obstacle in obstacles {
        match obstacle {
            Obstacle::Everywhere(reason) => return Err(reason),
            Obstacle::Jump { at, to } if to.wrapping_sub(pc).wrapping_sub(1) < JUMP_LEN => {
                return Err(NotOptimized::JumpsInto(at));
            }
            Obstacle::Jump { .. } => {}
        }
    }
    let rest = usize::try_from(offset).ok().and_then(|offset| code.get(offset..)).unwrap_or_default();
    let range = copied(rest, pc, mode)?;
    // A call at an ftrace location is five bytes long.
    let traced = range.start.saturating_sub(FTRACE_LEN - 1);
    let next = kernel.ftrace.partition_point(|at| *at < traced);
    if let Some(at) = kernel.ftrace.get(next).filter(|at| **at < range.end) {
        return Err(NotOptimized::Traced(*at));
    }
    match overlapping(kernel.patched, &range) {
        Some(patched) => Err(NotOptimized::Patched(patched.start)),
        None => Ok(range),
    }
}

/// What may keep kprobes of a function from being optimised, by address. The arguments are those of [`optimized`].
pub fn obstacles(code: &[u8], start: u64, mode: Mode, kernel: &KprobeKernel<'_>) -> impl Iterator<Item = Obstacle> {
    instructions(code, start, mode).filter_map(|(at, insn)| {
        if has(kernel.fixups, at) {
            return Some(Obstacle::Everywhere(NotOptimized::Fixup(at)));
        }
        let Some(insn) = insn else { return Some(Obstacle::Everywhere(NotOptimized::Undecodable(at))) };
        if kernel.jump_tables && is_indirect_jump(&insn) {
            return Some(Obstacle::Everywhere(NotOptimized::IndirectJump(at)));
        }
        jump_target(&insn, at).map(|to| Obstacle::Jump { at, to })
    })
}

/// The instructions from `pc` on that a jump covers, if each can run as a copy.
fn copied(code: &[u8], pc: u64, mode: Mode) -> Result<Range<u64>, NotOptimized> {
    let (mut rest, mut at) = (code, pc);
    while at.wrapping_sub(pc) < JUMP_LEN {
        let insn = decode(rest, mode).map_err(|_| NotOptimized::Undecodable(at))?;
        if matches!(refusal(&insn), Some(KprobeRefusal::StackSegment)) || first_byte(&insn) == 0xcc {
            return Err(NotOptimized::NotCopied(at));
        }
        if !is_boostable(&insn) {
            return Err(NotOptimized::NotBoosted(at));
        }
        rest = rest.get(insn.len()..).unwrap_or_default();
        at = at.wrapping_add(insn.len() as u64);
    }
    Ok(pc..at)
}

/// Where an instruction jumps to, as the kernel reads it: by the opcode byte, whatever map it belongs to. Calls are none of them.
fn jump_target(insn: &Insn, at: u64) -> Option<u64> {
    let is_jump = match first_byte(insn) {
        0x70..=0x7f | 0xe0..=0xe3 | 0xe9 | 0xeb => true,
        _ => insn.encoding() == Encoding::Legacy && insn.map() == Map::M0F && insn.opcode() & 0xf0 == 0x80,
    };
    let distance = insn.immediate().map_or(0, |field| field.value);
    is_jump.then(|| at.wrapping_add(insn.len() as u64).wrapping_add_signed(distance))
}

fn is_indirect_jump(insn: &Insn) -> bool {
    let reg = insn.modrm().unwrap_or(0) >> 3 & 7;
    first_byte(insn) == 0xff && matches!(reg, 4 | 5) || first_byte(insn) == 0xea
}

impl fmt::Display for NotOptimized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotOptimized::FunctionEnds => f.write_str("the function ends within the jump"),
            NotOptimized::Fixup(at) => write!(f, "the instruction at {at:#x} may fault and continue within the jump"),
            NotOptimized::Undecodable(at) => write!(f, "no instruction at {at:#x}"),
            NotOptimized::JumpsInto(at) => write!(f, "the instruction at {at:#x} jumps into it"),
            NotOptimized::IndirectJump(at) => write!(f, "the instruction at {at:#x} may jump anywhere"),
            NotOptimized::NotCopied(at) => write!(f, "the instruction at {at:#x} cannot be copied"),
            NotOptimized::NotBoosted(at) => write!(f, "the copy of the instruction at {at:#x} cannot jump back"),
            NotOptimized::Traced(at) => write!(f, "ftrace rewrites the instruction at {at:#x}"),
            NotOptimized::Patched(at) => write!(f, "a jump label or static call rewrites the instruction at {at:#x}"),
        }
    }
}

impl core::error::Error for NotOptimized {}
