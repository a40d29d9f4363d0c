//! Finds the starts of instructions in a file. A breakpoint on any other byte would change the program.
//!
//! Control flow from the starts of functions leads to most instructions. The remaining bytes (cases of jump tables, landing pads, but also
//! padding and data inside functions) are decoded tentatively, and are accepted only if the instructions do not overlap others.

use std::ops::Range;

use insn::Flow;

use super::file::Elf;
use crate::code::{self, Insn, Mode};

/// The widest gap between ranges that share a piece, in bytes. Alignment and data between functions are such gaps.
const GAP: u64 = 1 << 12;

/// The classification of one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Byte {
    /// The byte is in no range.
    Outside,
    /// Nothing is known yet.
    Unknown,
    /// The start of a function that has not been decoded yet.
    Entry,
    /// The first byte of an instruction.
    First,
    /// A further byte of an instruction.
    Further,
}

/// The classification of the bytes at consecutive addresses.
struct Piece {
    start: u64,
    bytes: Vec<Byte>,
}

struct Map<'a> {
    elf: &'a Elf,
    mode: Mode,
    /// The pieces by address. Ranges that are close together share one.
    pieces: Vec<Piece>,
}

/// Returns the addresses of the instructions in the ranges `code`, ascending.
pub(super) fn instructions(elf: &Elf, code: &[Range<u64>], mode: Mode) -> Vec<u64> {
    let mut map = Map { elf, mode, pieces: pieces(code) };
    for range in code {
        for address in range.clone() {
            map.set(address, Byte::Unknown);
        }
        map.set(range.start, Byte::Entry);
    }
    map.follow(code.iter().map(|range| range.start).collect());
    for range in code {
        map.fill(range);
    }
    let firsts = map.pieces.iter().flat_map(|piece| {
        let firsts = piece.bytes.iter().enumerate().filter(|(_, byte)| **byte == Byte::First);
        firsts.map(|(offset, _)| piece.start + offset as u64)
    });
    firsts.collect()
}

/// Returns pieces for the sorted ranges. Wide gaps between ranges are in no piece.
fn pieces(code: &[Range<u64>]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for range in code {
        match pieces.last_mut() {
            Some(piece) if range.start - piece.start <= piece.bytes.len() as u64 + GAP => {
                piece.bytes.resize((range.end - piece.start) as usize, Byte::Outside);
            }
            _ => pieces
                .push(Piece { start: range.start, bytes: vec![Byte::Outside; (range.end - range.start) as usize] }),
        }
    }
    pieces
}

impl Map<'_> {
    /// Returns the index of the piece that may contain an address, and the offset in it.
    fn find(&self, address: u64) -> Option<(usize, usize)> {
        let piece = self.pieces.partition_point(|piece| piece.start <= address).checked_sub(1)?;
        Some((piece, usize::try_from(address - self.pieces.get(piece)?.start).ok()?))
    }

    fn get(&self, address: u64) -> Byte {
        let found = self.find(address).and_then(|(piece, offset)| self.pieces.get(piece)?.bytes.get(offset));
        found.copied().unwrap_or(Byte::Outside)
    }

    fn set(&mut self, address: u64, byte: Byte) {
        let found = self.find(address).and_then(|(piece, offset)| self.pieces.get_mut(piece)?.bytes.get_mut(offset));
        if let Some(known) = found {
            *known = byte;
        }
    }

    fn decode(&self, address: u64) -> Option<Insn> {
        code::decode(self.elf.bytes_at(address)?, address, self.mode)
    }

    /// Marks the instructions that control flow reaches.
    fn follow(&mut self, mut starts: Vec<u64>) {
        while let Some(mut pc) = starts.pop() {
            while let Some(insn) = self.decode(pc).filter(|insn| self.mark(pc, insn)) {
                starts.extend(insn.target.filter(|target| self.is_open(*target)));
                pc += insn.len as u64;
                if ends(&insn) {
                    break;
                }
            }
        }
    }

    fn is_open(&self, address: u64) -> bool {
        matches!(self.get(address), Byte::Unknown | Byte::Entry)
    }

    /// Marks an instruction, unless it shares bytes with a marked one. Returns whether it did.
    fn mark(&mut self, pc: u64, insn: &Insn) -> bool {
        let end = pc + insn.len as u64;
        let fits = self.is_open(pc) && (pc + 1..end).all(|at| self.get(at) == Byte::Unknown);
        // A jump may skip a lock prefix. The instruction is then the prefixed one.
        let inner = (pc + 1..end).find(|at| self.get(*at) == Byte::First);
        let prefixed = self.is_open(pc) && inner.is_some_and(|inner| inner - pc <= insn.prefixes as u64);
        if !fits && !prefixed {
            return false;
        }
        self.set(pc, Byte::First);
        for at in pc + 1..end {
            self.set(at, Byte::Further);
        }
        true
    }

    /// Decodes the unknown bytes of a range.
    fn fill(&mut self, range: &Range<u64>) {
        let unit = self.mode.alignment();
        let mut pc = range.start;
        while pc < range.end {
            if self.get(pc) != Byte::Unknown || self.is_padding(pc) {
                pc += unit;
                continue;
            }
            match self.try_run(pc, range.end) {
                Some(end) => {
                    self.follow(vec![pc]);
                    pc = end;
                }
                // These bytes are no code that fits.
                None => {
                    while pc < range.end && self.get(pc) == Byte::Unknown {
                        pc += unit;
                    }
                }
            }
        }
    }

    /// Whether the bytes of one alignment unit are zero.
    fn is_padding(&self, pc: u64) -> bool {
        let bytes = self.elf.bytes_at(pc).and_then(|bytes| bytes.get(..self.mode.alignment() as usize));
        bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    }

    /// Decodes instructions from `pc` on, until a known instruction, the end of the range, or the end of control flow. Returns the address
    /// after them. `None` if they overlap other instructions.
    fn try_run(&self, mut pc: u64, end: u64) -> Option<u64> {
        loop {
            let insn = self.decode(pc)?;
            let next = pc + insn.len as u64;
            if next > end || (pc..next).any(|at| self.get(at) != Byte::Unknown) {
                return None;
            }
            if insn.target.is_some_and(|target| self.get(target) == Byte::Further) {
                return None;
            }
            if next == end || ends(&insn) || self.get(next) == Byte::First {
                return Some(next);
            }
            pc = next;
        }
    }
}

/// Whether control does not continue after an instruction.
fn ends(insn: &Insn) -> bool {
    matches!(insn.flow, Flow::Jump | Flow::Return | Flow::Faulting)
}
