//! Instructions one after another.

use insn::x86::{Error, Insn, Mode, decode};

/// What stands at an address.
#[derive(Debug)]
pub(super) enum Found {
    /// An instruction.
    Insn(Insn),
    /// A byte at which none begins.
    Undecodable(u8, Error),
}

/// Walks over `bytes`, which lie at `start`; after a byte at which no instruction begins it goes on with the next one.
pub(super) fn sweep(bytes: &[u8], start: u64, mode: Mode) -> impl Iterator<Item = (u64, Found)> {
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
