//! Decodes x86 instructions one after another.

use insn::x86::{Error, Insn, Mode, decode};

/// The content of an address.
#[derive(Debug)]
pub enum Found {
    /// An instruction.
    Insn(Insn),
    /// A byte at which no instruction begins.
    Undecodable(u8, Error),
}

/// Decodes all instructions in `bytes`, which are at the address `start`. After a byte at which no instruction begins, decoding continues
/// with the next byte.
pub fn sweep(bytes: &[u8], start: u64, mode: Mode) -> impl Iterator<Item = (u64, Found)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(offset..).filter(|rest| !rest.is_empty())?;
        let pc = start.wrapping_add(offset as u64);
        match decode(rest, mode) {
            Ok(insn) => {
                offset += insn.len();
                Some((pc, Found::Insn(insn)))
            }
            Err(error) => {
                offset += 1;
                Some((pc, Found::Undecodable(*rest.first()?, error)))
            }
        }
    })
}
