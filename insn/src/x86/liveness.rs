//! Which values code no longer needs.

use super::codes::bank;
use super::{Flags, Insn, Mode, RegSet, decode};
use crate::{Flow, Target};

/// Instructions looked at, on all paths together.
const INSTRUCTIONS: usize = 48;
/// Branches of which both ways are followed at a time.
const BRANCHES: usize = 8;
/// The flags that are told about: those of arithmetic, and the direction.
const FLAGS: Flags = Flags::STATUS.union(Flags::DF);
/// The registers that are told about: general, vector, mask, MMX.
const REGISTERS: RegSet = RegSet::from_bits((1 << bank::BOUND) - 1);

/// Registers and flags whose values code does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dead {
    /// General, vector, mask and MMX registers that are overwritten in whole, on every path, before anything reads them.
    pub registers: RegSet,
    /// Arithmetic flags and the direction flag that are overwritten, on every path, before anything reads them.
    pub flags: Flags,
}

/// What a path, from an offset on, has neither read nor overwritten.
#[derive(Clone, Copy)]
struct Path {
    offset: usize,
    registers: RegSet,
    flags: Flags,
}

/// Tells what the code at `offset` of `code` does not need of the values that registers and flags have before it runs.
///
/// What is not proven dead is not told as dead: where the code leaves `code`, returns, branches to where no byte says, enters the kernel, may
/// not be decoded, or goes on for more than 48 instructions, all is needed that is not overwritten by then. The answer is about the program's own
/// instructions: a signal handler, a debugger, or a page fault's handler in user mode may look at any register at any time.
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
    let mut scan = Scan { needed: (RegSet::EMPTY, Flags::EMPTY), waiting: [None; BRANCHES], left: INSTRUCTIONS };
    scan.waiting[0] = Some(Path { offset, registers: REGISTERS, flags: FLAGS });
    while let Some(path) = scan.waiting.iter_mut().rev().find_map(Option::take) {
        scan.follow(code, mode, path);
    }
    let (registers, flags) = scan.needed;
    Dead { registers: REGISTERS.difference(registers), flags: FLAGS.difference(flags) }
}

struct Scan {
    /// Registers and flags that some path needs.
    needed: (RegSet, Flags),
    /// Paths that are still to be followed.
    waiting: [Option<Path>; BRANCHES],
    /// Instructions that may still be looked at.
    left: usize,
}

impl Scan {
    fn follow(&mut self, code: &[u8], mode: Mode, mut path: Path) {
        loop {
            // What another path needs is needed.
            path.registers = path.registers.difference(self.needed.0);
            path.flags = path.flags.difference(self.needed.1);
            if path.registers.is_empty() && path.flags.is_empty() {
                return;
            }
            let rest = code.get(path.offset..).unwrap_or_default();
            let next = if self.left == 0 { None } else { decode(rest, mode).ok() };
            let Some(insn) = next else { return self.need(&path) };
            self.left -= 1;
            self.pass(&insn, &mut path);
            let end = path.offset + insn.len();
            let target = match insn.target() {
                Target::Relative(distance) => end.checked_add_signed(distance as isize),
                _ => None,
            };
            match (insn.flow(), target) {
                (Flow::Next, _) => path.offset = end,
                (Flow::Jump | Flow::Call, Some(target)) => path.offset = target,
                (Flow::ConditionalJump, Some(target)) => {
                    match self.waiting.iter_mut().find(|waiting| waiting.is_none()) {
                        Some(free) => *free = Some(Path { offset: target, ..path }),
                        None => return self.need(&path),
                    }
                    path.offset = end;
                }
                _ => return self.need(&path),
            }
        }
    }
    /// Takes from the path what the instruction reads or overwrites.
    fn pass(&mut self, insn: &Insn, path: &mut Path) {
        let effects = insn.effects();
        self.needed.0 = self.needed.0.union(path.registers.intersection(effects.reads));
        self.needed.1 = self.needed.1.union(path.flags.intersection(effects.flags_read));
        path.registers = path.registers.difference(effects.overwrites);
        path.flags = path.flags.difference(effects.flags_overwritten);
    }
    fn need(&mut self, path: &Path) {
        self.needed.0 = self.needed.0.union(path.registers);
        self.needed.1 = self.needed.1.union(path.flags);
    }
}
