//! Removes the instructions for signed return addresses from A64 unwind information.
//!
//! framehop does not know these instructions and cannot unwind functions that have them. They are not needed, since the unwinder removes the
//! signature from every return address.

use std::collections::HashMap;

use gimli::{EndianSlice, LittleEndian, Reader, Result};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// DW_CFA_AARCH64_negate_ra_state_with_pc and DW_CFA_AARCH64_negate_ra_state (DWARF for the Arm 64-bit Architecture).
const SIGNED: [u8; 2] = [0x2c, 0x2d];
/// DW_CFA_nop.
const NOP: u8 = 0;

/// An operand of an instruction (DWARF 5, 7.24; LSB, 10.6.1).
#[derive(Clone, Copy)]
enum Operand {
    /// A given number of bytes.
    Bytes(usize),
    /// A LEB128 number, signed or unsigned.
    Number,
    /// A length as a LEB128 number, and that number of bytes.
    Block,
    /// An address in the encoding that the CIE states.
    Address,
}

/// The operands of each instruction, by its code.
const OPERANDS: &[(u8, &[Operand])] = &[
    (0x00, &[]),
    (0x01, &[Operand::Address]),
    (0x02, &[Operand::Bytes(1)]),
    (0x03, &[Operand::Bytes(2)]),
    (0x04, &[Operand::Bytes(4)]),
    (0x05, &[Operand::Number, Operand::Number]),
    (0x06, &[Operand::Number]),
    (0x07, &[Operand::Number]),
    (0x08, &[Operand::Number]),
    (0x09, &[Operand::Number, Operand::Number]),
    (0x0a, &[]),
    (0x0b, &[]),
    (0x0c, &[Operand::Number, Operand::Number]),
    (0x0d, &[Operand::Number]),
    (0x0e, &[Operand::Number]),
    (0x0f, &[Operand::Block]),
    (0x10, &[Operand::Number, Operand::Block]),
    (0x11, &[Operand::Number, Operand::Number]),
    (0x12, &[Operand::Number, Operand::Number]),
    (0x13, &[Operand::Number]),
    (0x14, &[Operand::Number, Operand::Number]),
    (0x15, &[Operand::Number, Operand::Number]),
    (0x16, &[Operand::Number, Operand::Block]),
    (0x2c, &[]),
    (0x2d, &[]),
    (0x2e, &[Operand::Number]),
    (0x2f, &[Operand::Number, Operand::Number]),
];

/// The layout of the FDEs of a CIE.
#[derive(Clone, Copy)]
struct Shape {
    has_augmentation: bool,
    /// The encoding of addresses (LSB, 10.5.1).
    encoding: u8,
}

/// Returns a copy of `.eh_frame` in which the instructions for signed return addresses are DW_CFA_nop. Entries after a malformed entry are
/// not changed.
pub(super) fn without_signatures(eh_frame: &[u8]) -> Vec<u8> {
    let mut offsets = Vec::new();
    let _ = entries(eh_frame, &mut offsets);
    let mut bytes = eh_frame.to_vec();
    for offset in offsets {
        if let Some(byte) = bytes.get_mut(offset) {
            *byte = NOP;
        }
    }
    bytes
}

/// Adds the offsets of the instructions for signed return addresses to `offsets`.
fn entries(eh_frame: &[u8], offsets: &mut Vec<usize>) -> Result<()> {
    let all = EndianSlice::new(eh_frame, LittleEndian);
    let mut rest = all;
    let mut shapes: HashMap<usize, Shape> = HashMap::new();
    while !rest.is_empty() {
        let start = rest.offset_from(all);
        let length = match rest.read_u32()? {
            u32::MAX => rest.read_u64()? as usize,
            length => length as usize,
        };
        // A length of zero ends the entries of one object file.
        if length == 0 {
            continue;
        }
        let mut entry = rest.split(length)?;
        let here = entry.offset_from(all);
        let shape = match entry.read_u32()? {
            0 => {
                let shape = common(&mut entry)?;
                shapes.insert(start, shape);
                shape
            }
            back => {
                let Some(shape) = shapes.get(&here.wrapping_sub(back as usize)).copied() else { continue };
                skip_address(&mut entry, shape.encoding)?;
                skip_address(&mut entry, shape.encoding)?;
                if shape.has_augmentation {
                    skip_block(&mut entry)?;
                }
                shape
            }
        };
        instructions(entry, shape, all, offsets)?;
    }
    Ok(())
}

/// Parses a CIE up to its instructions.
fn common(entry: &mut Slice<'_>) -> Result<Shape> {
    let version = entry.read_u8()?;
    let augmentation = entry.read_null_terminated_slice()?;
    entry.read_uleb128()?;
    entry.read_sleb128()?;
    // The register of the return address.
    if version == 1 {
        entry.skip(1)?
    } else {
        entry.read_uleb128().map(drop)?
    };
    let mut shape = Shape { has_augmentation: augmentation.first() == Some(&b'z'), encoding: 0 };
    if !shape.has_augmentation {
        return Ok(shape);
    }
    let length = entry.read_uleb128()? as usize;
    let mut data = entry.split(length)?;
    for letter in augmentation.iter().skip(1) {
        match letter {
            b'R' => shape.encoding = data.read_u8()?,
            b'L' => data.skip(1)?,
            b'P' => {
                let encoding = data.read_u8()?;
                skip_address(&mut data, encoding)?;
            }
            _ => {}
        }
    }
    Ok(shape)
}

fn instructions(mut entry: Slice<'_>, shape: Shape, all: Slice<'_>, offsets: &mut Vec<usize>) -> Result<()> {
    while !entry.is_empty() {
        let offset = entry.offset_from(all);
        let code = entry.read_u8()?;
        if SIGNED.contains(&code) {
            offsets.push(offset);
        }
        let operands = match code >> 6 {
            0 => OPERANDS.iter().find(|(known, _)| *known == code).map(|(_, operands)| *operands),
            // DW_CFA_offset has an operand; DW_CFA_advance_loc and DW_CFA_restore have none.
            2 => Some(&[Operand::Number][..]),
            _ => Some(&[][..]),
        };
        // The length of an unknown instruction is unknown too.
        let Some(operands) = operands else { break };
        for operand in operands {
            match *operand {
                Operand::Bytes(count) => entry.skip(count)?,
                Operand::Number => entry.skip_leb128()?,
                Operand::Block => skip_block(&mut entry)?,
                Operand::Address => skip_address(&mut entry, shape.encoding)?,
            }
        }
    }
    Ok(())
}

fn skip_block(data: &mut Slice<'_>) -> Result<()> {
    let length = data.read_uleb128()? as usize;
    data.skip(length)
}

fn skip_address(data: &mut Slice<'_>, encoding: u8) -> Result<()> {
    match encoding & 7 {
        1 => data.skip_leb128(),
        2 => data.skip(2),
        3 => data.skip(4),
        _ => data.skip(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an entry: its length, and the rest.
    fn entry(rest: &[u8]) -> Vec<u8> {
        let mut bytes = (rest.len() as u32).to_le_bytes().to_vec();
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn the_instructions_for_signed_addresses_are_removed_and_equal_bytes_elsewhere_are_kept() {
        // Version 1, "zR", alignments 4 and -8, x30; 4-byte relative addresses; def_cfa sp+0x2d.
        let common = entry(&[0, 0, 0, 0, 1, b'z', b'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0x2d, 0, 0, 0, 0]);
        let back = (common.len() + 4) as u32;
        let mut own = back.to_le_bytes().to_vec();
        // The function's address and length, no augmentation; advance, sign, def_cfa_offset 0x2d, x30 at 0x2d, an expression.
        own.extend([
            0x2d, 0, 0, 0, 0x2d, 0, 0, 0, 0, 0x41, 0x2d, 0x0e, 0x2d, 0x9e, 0x2d, 0x10, 1, 2, 0x2d, 0x2d, 0x2d, 0,
        ]);
        let frames = [common.clone(), entry(&own), vec![0; 4]].concat();
        let mut expected = frames.clone();
        for offset in [14, 24] {
            let place = common.len() + 4 + offset;
            assert_eq!(expected[place], 0x2d);
            expected[place] = 0;
        }
        assert_eq!(without_signatures(&frames), expected);
    }

    #[test]
    fn malformed_entries_are_not_changed() {
        for broken in [&[][..], &[1], &[0xff; 40], &[8, 0, 0, 0, 9, 9, 9, 9, 0x2d, 0x2d, 0x2d, 0x2d]] {
            assert_eq!(without_signatures(broken), broken);
        }
    }
}
