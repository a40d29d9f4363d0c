//! The registers and flags whose values code does not need.

use super::codes::bank;
use super::step::{CONSIDERED, Lead, Step};
use super::{Bits, Flags, Insn, Mode, Prefixes, Reg, RegSet, decode, flag_step};
use crate::{Flow, Target};

/// The greatest number of instructions that a scan decodes, on all paths together.
const INSTRUCTIONS: usize = 48;
/// The greatest number of branches whose targets wait to be followed.
const BRANCHES: usize = 8;
/// The registers that a scan considers: general, vector, mask and MMX registers. The stack pointer is always needed, because the kernel puts
/// the frame of a signal below it.
const REGISTERS: RegSet = RegSet::from_bits((1 << bank::BOUND) - 1).without(Reg::RSP);

/// Registers and flags whose values code does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dead {
    /// The general, vector, mask and MMX registers that every path overwrites in whole before it reads them; never the stack pointer.
    pub registers: RegSet,
    /// The arithmetic flags and the direction flag that every path overwrites before it reads them.
    pub flags: Flags,
}

/// The registers and flags whose values the code at `offset` of `code` does not need.
///
/// The function follows direct branches and calls within `code`, and tells only what it proves. A path that leaves `code`, returns, branches
/// indirectly, enters the kernel, reaches bytes that are no instruction, or runs for more than 48 instructions needs everything that it has not
/// overwritten by then. The proof covers the instructions of the program: a signal handler, a debugger or a handler of page faults in user
/// mode can read every register at any time.
///
/// ```
/// use insn::x86::{Flags, Mode, Reg, dead};
///
/// // mov eax, [rdi]; test eax, eax; ret
/// let dead = dead(&[0x8b, 0x07, 0x85, 0xc0, 0xc3], 0, Mode::INTEL_64);
/// assert!(dead.registers.contains(Reg::RAX) && !dead.registers.contains(Reg::RDI));
/// // `test` sets all but AF, which it leaves undefined.
/// assert!(dead.flags.contains(Flags::CF.union(Flags::ZF)) && !dead.flags.contains(Flags::AF));
/// ```
pub fn dead(code: &[u8], offset: usize, mode: Mode) -> Dead {
    dead_among(code, offset, mode, Dead { registers: REGISTERS, flags: CONSIDERED })
}

/// The registers and flags of `wanted` whose values the code at `offset` of `code` does not need: what [`dead`] tells of these. The scan ends
/// as soon as each of them is known to be needed or not, which for the flags alone takes few instructions. What other registers need does not
/// use up the instructions that a scan may decode, so that the answer can contain more than that of [`dead`].
///
/// ```
/// use insn::x86::{Dead, Flags, Mode, dead_among};
///
/// let mut wanted = Dead::default();
/// wanted.flags = Flags::STATUS;
/// // cmp rdi, rsi; jne +0; ret
/// let dead = dead_among(&[0x48, 0x39, 0xf7, 0x75, 0x00, 0xc3], 0, Mode::INTEL_64, wanted);
/// assert_eq!(dead, wanted);
/// ```
pub fn dead_among(code: &[u8], offset: usize, mode: Mode, wanted: Dead) -> Dead {
    let (registers, flags) = (wanted.registers.intersection(REGISTERS), wanted.flags.intersection(CONSIDERED));
    if registers.is_empty() {
        return Dead { registers, flags: flags.difference(needed(code, offset, mode, flags)) };
    }
    let wanted = Dead { registers, flags };
    wanted.difference(needed(code, offset, mode, wanted))
}

/// A path of execution, with what it has neither read nor overwritten so far.
#[derive(Clone, Copy)]
struct Path<W> {
    offset: usize,
    wanted: W,
}

/// The part of `wanted` that at least one path from `offset` on needs.
#[inline(never)]
fn needed<W: Wanted>(code: &[u8], offset: usize, mode: Mode, wanted: W) -> W {
    let mut path = Path { offset, wanted };
    // The paths that the scan has not followed yet: the first `paths`.
    let (mut waiting, mut paths) = ([path; BRANCHES], 0_usize);
    let mut needed = wanted.difference(wanted);
    let mut left = INSTRUCTIONS;
    loop {
        while !path.wanted.is_empty() {
            let step = if left == 0 { None } else { path.wanted.step(code, path.offset, mode) };
            let Some(Step { read, overwritten, len, lead, distance }) = step else { break };
            left -= 1;
            needed = needed.union(path.wanted.intersection(read));
            path.wanted = path.wanted.difference(read.union(overwritten));
            path.offset += len;
            if lead == Lead::Next {
                continue;
            }
            let Some(target) = path.offset.checked_add_signed(distance).filter(|_| lead != Lead::Away) else { break };
            if lead == Lead::Jump {
                path.offset = target;
                continue;
            }
            let Some(free) = waiting.get_mut(paths) else { break };
            *free = Path { offset: target, ..path };
            paths += 1;
        }
        // Code that the scan does not follow may need everything that is left of the path.
        needed = needed.union(path.wanted);
        let Some(last) = paths.checked_sub(1) else { return needed };
        let Some(next) = waiting.get(last) else { return needed };
        // This path may have shown that the next one need not tell everything.
        path = Path { wanted: next.wanted.difference(needed), ..*next };
        paths = last;
    }
}

/// What a scan asks for.
trait Wanted: Copy {
    fn is_empty(self) -> bool;
    fn union(self, other: Self) -> Self;
    fn intersection(self, other: Self) -> Self;
    fn difference(self, other: Self) -> Self;
    /// What the instruction at that offset of the code does; `None` if there is none. The sets contain what matters of `self`.
    fn step(self, code: &[u8], offset: usize, mode: Mode) -> Option<Step<Self>>;
}

/// Flags alone are known after few instructions, and a table tells what most instructions do to them.
impl Wanted for Flags {
    #[inline(always)]
    fn is_empty(self) -> bool {
        self.is_empty()
    }
    #[inline(always)]
    fn union(self, other: Flags) -> Flags {
        self.union(other)
    }
    #[inline(always)]
    fn intersection(self, other: Flags) -> Flags {
        self.intersection(other)
    }
    #[inline(always)]
    fn difference(self, other: Flags) -> Flags {
        self.difference(other)
    }
    #[inline(always)]
    fn step(self, code: &[u8], offset: usize, mode: Mode) -> Option<Step<Flags>> {
        let rest = code.get(offset..)?;
        let quick = rest.first_chunk().filter(|_| mode.bits == Bits::B64).and_then(flag_step::step);
        if quick.is_some() { quick } else { other_flags(rest, mode) }
    }
}

impl Wanted for Dead {
    #[inline(always)]
    fn is_empty(self) -> bool {
        self.flags.is_empty() && self.registers.is_empty()
    }
    #[inline(always)]
    fn union(self, other: Dead) -> Dead {
        Dead { registers: self.registers.union(other.registers), flags: self.flags.union(other.flags) }
    }
    #[inline(always)]
    fn intersection(self, other: Dead) -> Dead {
        Dead { registers: self.registers.intersection(other.registers), flags: self.flags.intersection(other.flags) }
    }
    #[inline(always)]
    fn difference(self, other: Dead) -> Dead {
        Dead { registers: self.registers.difference(other.registers), flags: self.flags.difference(other.flags) }
    }
    #[inline(always)]
    fn step(self, code: &[u8], offset: usize, mode: Mode) -> Option<Step<Dead>> {
        let rest = code.get(offset..)?;
        if self.registers.is_empty() {
            let Step { read, overwritten, len, lead, distance } = other_flags(rest, mode)?;
            let of = |flags| Dead { registers: RegSet::EMPTY, flags };
            return Some(Step { read: of(read), overwritten: of(overwritten), len, lead, distance });
        }
        let insn = decode(rest, mode).ok()?;
        let effects = insn.effects();
        let read = Dead { registers: effects.reads, flags: effects.flags_read };
        let overwritten = Dead { registers: effects.overwrites, flags: effects.flags_overwritten };
        let (lead, distance) = way(&insn);
        Some(Step { read, overwritten, len: insn.len(), lead, distance })
    }
}

/// What any instruction does to flags. The callers have asked the table before.
#[cold]
#[inline(never)]
fn other_flags(code: &[u8], mode: Mode) -> Option<Step<Flags>> {
    let insn = decode(code, mode).ok()?;
    let flags = insn.flagged();
    let (lead, distance) = way(&insn);
    Some(Step { read: flags.read, overwritten: flags.overwritten, len: insn.len(), lead, distance })
}

/// Where an instruction leads.
#[inline(always)]
fn way(insn: &Insn) -> (Lead, isize) {
    if insn.flow() == Flow::Next {
        return (Lead::Next, 0);
    }
    match (insn.flow(), insn.target()) {
        (Flow::Jump | Flow::Call, Target::Relative(distance)) if !is_short(insn) => (Lead::Jump, distance as isize),
        (Flow::ConditionalJump, Target::Relative(distance)) if !is_short(insn) => (Lead::Branch, distance as isize),
        _ => (Lead::Away, 0),
    }
}

/// Whether a branch cuts the instruction pointer to 16 bits, so that its target depends on the address of the code.
fn is_short(insn: &Insn) -> bool {
    let may_be = insn.mode().bits != Bits::B64 || insn.prefixes().has(Prefixes::OPERAND_SIZE);
    may_be && insn.operand_size() == 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x86::MAX_LEN;

    /// What a step tells of the flags that are considered: those that are needed there, and those that nobody needs.
    fn told(step: &Step<Flags>) -> (Flags, Flags) {
        let left = CONSIDERED.difference(step.read).difference(step.overwritten);
        let needed = step.read.union(if step.lead == Lead::Away { left } else { Flags::EMPTY });
        (needed.intersection(CONSIDERED), step.overwritten.difference(step.read).intersection(CONSIDERED))
    }

    #[test]
    fn the_table_of_flags_tells_what_decoding_tells_of_every_opcode_and_modrm() {
        const REX: [&[u8]; 4] = [&[], &[0x40], &[0x48], &[0x47]];
        // A SIB byte or an immediate, and more of them: counts of 0, of more than an operand's bits and of others, distances to both sides.
        const REST: [u8; 8] = [0x00, 0x01, 0x1f, 0x20, 0x25, 0x40, 0x7f, 0x80];
        let (mut found, mut by_lead) = (0, [0; 4]);
        for at in 0..256 * 256 * 64 {
            let [modrm, opcode, rest, _] = u32::to_le_bytes(at);
            let rest = usize::from(rest);
            let escape: &[u8] = if rest & 1 == 0 { &[] } else { &[0x0f] };
            let behind = [REST[rest / 8 % 8]; MAX_LEN];
            let parts = [REX[rest / 2 % 4], escape, &[opcode, modrm], &behind];
            let mut bytes = [0; MAX_LEN];
            bytes.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, byte)| *to = *byte);
            let Some(step) = flag_step::step(&bytes) else { continue };
            found += 1;
            by_lead[step.lead as usize] += 1;
            for mode in [Mode::INTEL_64, Mode::AMD_64.lenient()] {
                let other = other_flags(&bytes, mode).expect("an instruction");
                assert_eq!((told(&step), step.len), (told(&other), other.len), "{bytes:02x?}");
                assert!(step.lead == other.lead, "{bytes:02x?}");
                let leads_there = matches!(step.lead, Lead::Branch | Lead::Jump);
                assert!(!leads_there || step.distance == other.distance, "{bytes:02x?}");
            }
        }
        assert!(found > 2_000_000 && by_lead.iter().all(|count| *count > 1000), "{found}, {by_lead:?}");
    }
}
