//! Finds the basic blocks of a file's code: runs of instructions of which either all are executed or none.

use std::ops::Range;

use insn::Flow;

use super::file::Elf;
use crate::code::{self, Insn, Mode};

/// Returns the addresses at which blocks begin, ascending. A block ends before the next one begins.
///
/// A block begins where a function does, at the target of a direct branch, and after each branch, call and return. The targets of an indirect
/// jump are in no instruction. They begin lines, so that in functions with such a jump each address that `lines` returns begins a block.
pub(super) fn blocks(
    elf: &Elf,
    code: &[Range<u64>],
    instructions: &[u64],
    mode: Mode,
    lines: impl Fn(Range<u64>) -> Vec<u64>,
) -> Vec<u64> {
    let mut begins = vec![false; instructions.len()];
    let mark = |begins: &mut [bool], address: u64| {
        if let Ok(index) = instructions.binary_search(&address) {
            begins[index] = true;
        }
    };
    for range in code {
        let first = instructions.partition_point(|address| *address < range.start);
        let end = instructions.partition_point(|address| *address < range.end);
        let (mut expected, mut has_indirect) = (None, false);
        for index in first..end {
            let address = instructions[index];
            let Some(insn) = elf.bytes_at(address).and_then(|bytes| code::decode(bytes, address, mode)) else {
                continue;
            };
            let is_entered = expected != Some(address);
            // Nothing executes the padding after a jump.
            if is_entered && insn.is_padding {
                continue;
            }
            begins[index] |= is_entered;
            insn.target.into_iter().for_each(|target| mark(&mut begins, target));
            has_indirect |= is_indirect(&insn);
            expected = (insn.flow == Flow::Next).then_some(address + insn.len as u64);
        }
        if has_indirect {
            lines(range.clone()).into_iter().for_each(|address| mark(&mut begins, address));
        }
    }
    instructions.iter().zip(begins).filter(|(_, begins)| *begins).map(|(address, _)| *address).collect()
}

fn is_indirect(insn: &Insn) -> bool {
    insn.flow == Flow::Jump && insn.target.is_none()
}
