//! The registers and flags whose values code does not need.

use super::codes::bank;
use super::{Bits, Flags, Insn, Mode, Prefixes, Reg, RegSet, decode};
use crate::{Flow, Target};

/// The greatest number of instructions that a scan decodes, on all paths together.
const INSTRUCTIONS: usize = 48;
/// The greatest number of branches whose targets wait to be followed.
const BRANCHES: usize = 8;
/// The flags that a scan considers: the arithmetic flags and the direction flag.
const FLAGS: Flags = Flags::STATUS.union(Flags::DF);
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

/// A path of execution, with the registers and flags that it has neither read nor overwritten so far.
#[derive(Clone, Copy)]
struct Path {
    offset: usize,
    registers: RegSet,
    flags: Flags,
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
    dead_among(code, offset, mode, Dead { registers: REGISTERS, flags: FLAGS })
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
    let (registers, flags) = (wanted.registers.intersection(REGISTERS), wanted.flags.intersection(FLAGS));
    let first = Path { offset, registers, flags };
    let mut scan = Scan {
        code,
        mode,
        needed: (RegSet::EMPTY, Flags::EMPTY),
        waiting: [first; BRANCHES],
        paths: 1,
        left: INSTRUCTIONS,
    };
    while let Some(path) = scan.next() {
        // Flags alone are known much sooner.
        if registers.is_empty() { scan.follow::<false>(path) } else { scan.follow::<true>(path) }
    }
    Dead { registers: registers.difference(scan.needed.0), flags: flags.difference(scan.needed.1) }
}

struct Scan<'a> {
    code: &'a [u8],
    mode: Mode,
    /// The registers and flags that at least one path needs.
    needed: (RegSet, Flags),
    /// The paths that the scan has not followed yet: the first `paths`.
    waiting: [Path; BRANCHES],
    paths: usize,
    /// The number of instructions that the scan may still decode.
    left: usize,
}

impl Scan<'_> {
    /// Takes the last path that waits.
    fn next(&mut self) -> Option<Path> {
        self.paths = self.paths.checked_sub(1)?;
        self.waiting.get(self.paths).copied()
    }
    /// Follows a path. It has no registers unless `REGISTERS`.
    fn follow<const REGISTERS: bool>(&mut self, mut path: Path) {
        // Another path may have shown that some of them are needed.
        path.registers = path.registers.difference(self.needed.0);
        path.flags = path.flags.difference(self.needed.1);
        while !path.flags.is_empty() || REGISTERS && !path.registers.is_empty() {
            let rest = self.code.get(path.offset..).unwrap_or_default();
            let next = if self.left == 0 { None } else { decode(rest, self.mode).ok() };
            let Some(insn) = next else { return self.need(&path) };
            self.left -= 1;
            self.pass::<REGISTERS>(&insn, &mut path);
            let end = path.offset + insn.len();
            if insn.flow() == Flow::Next {
                path.offset = end;
                continue;
            }
            let target = match insn.target() {
                Target::Relative(distance) if !is_short(&insn) => end.checked_add_signed(distance as isize),
                _ => None,
            };
            match (insn.flow(), target) {
                (Flow::Jump | Flow::Call, Some(target)) => path.offset = target,
                (Flow::ConditionalJump, Some(target)) => {
                    match self.waiting.get_mut(self.paths) {
                        Some(free) => *free = Path { offset: target, ..path },
                        None => return self.need(&path),
                    }
                    self.paths += 1;
                    path.offset = end;
                }
                _ => return self.need(&path),
            }
        }
    }
    /// Removes from the path what the instruction reads or overwrites.
    #[inline(always)]
    fn pass<const REGISTERS: bool>(&mut self, insn: &Insn, path: &mut Path) {
        let flags = insn.flagged();
        let read = path.flags.intersection(flags.read);
        self.needed.1 = self.needed.1.union(read);
        path.flags = path.flags.difference(read.union(flags.overwritten));
        if REGISTERS && !path.registers.is_empty() {
            let effects = insn.effects();
            let read = path.registers.intersection(effects.reads);
            self.needed.0 = self.needed.0.union(read);
            path.registers = path.registers.difference(read.union(effects.overwrites));
        }
    }
    fn need(&mut self, path: &Path) {
        self.needed.0 = self.needed.0.union(path.registers);
        self.needed.1 = self.needed.1.union(path.flags);
    }
}

/// Whether a branch cuts the instruction pointer to 16 bits, so that its target depends on the address of the code.
fn is_short(insn: &Insn) -> bool {
    let may_be = insn.mode().bits != Bits::B64 || insn.prefixes().has(Prefixes::OPERAND_SIZE);
    may_be && insn.operand_size() == 2
}
