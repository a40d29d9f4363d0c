//! The code at an address, before a breakpoint is set there.

use ubp::{Pid, Session};
use ubp_symbols::code::{self, Mode};
use ubp_symbols::{Image, Module, differing};

/// The start of the instruction that an address in the file is inside of. `None` if the address is the start of an instruction, or if no
/// instruction is known there.
pub(crate) fn inside_instruction(image: &Image, address: u64, mode_of: fn(&Image) -> Mode) -> Option<u64> {
    let all = image.instructions(mode_of);
    let before = *all.get(all.partition_point(|start| *start <= address).checked_sub(1)?)?;
    let insn = code::decode(image.bytes_at(before)?, before, mode_of(image))?;
    (before < address && address - before < insn.len as u64).then_some(before)
}

/// Those of the addresses in a module's file at which memory does not hold the code of the function around them. The file's symbols and lines
/// do not describe that memory.
pub(crate) fn replaced(
    session: &Session,
    pid: Pid,
    module: &Module,
    addresses: impl Iterator<Item = u64>,
) -> ubp::Result<Vec<u64>> {
    differing(session, pid, module, addresses, |address| {
        let symbol = module.image.symbols().holding(address).filter(|symbol| symbol.size > 0)?;
        Some(symbol.address..symbol.address.saturating_add(symbol.size))
    })
}
