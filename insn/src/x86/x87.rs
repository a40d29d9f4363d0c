//! The registers that x87 instructions name.

use super::Insn;
use crate::Access;

/// Registers of the x87 stack, by their distance from its top.
pub(super) type Named = [Option<(u8, Access)>; 2];

impl Insn {
    /// The registers that an x87 instruction with no memory operand names, in the manual's order.
    pub(super) fn x87_registers(&self) -> Named {
        use Access::{Read, ReadWrite, Write};
        let modrm = self.modrm().unwrap_or(0);
        let (reg, other) = (modrm >> 3 & 7, modrm & 7);
        let top_first = |top, named| [Some((0, top)), Some((other, named))];
        let top_last = |named| [Some((other, named)), Some((0, Read))];
        let one = |access| [Some((other, access)), None];
        match (self.opcode, reg) {
            (0xd8 | 0xdc, 2 | 3) | (0xdb, 5 | 6) | (0xdd, 4 | 5) | (0xde, 2) | (0xdf, 5 | 6) => top_first(Read, Read),
            (0xd8, _) | (0xda | 0xdb, 0..=3) => top_first(ReadWrite, Read),
            (0xd9, 0) => top_first(Write, Read),
            (0xd9 | 0xdd | 0xdf, 1) => top_first(ReadWrite, ReadWrite),
            (0xd9, 3) => top_last(Write),
            (0xdc, _) | (0xde, 0 | 1 | 4..=7) => top_last(ReadWrite),
            (0xdd | 0xdf, 0) => one(Access::None),
            (0xdd | 0xdf, 2 | 3) => one(Write),
            _ => [None; 2],
        }
    }
}
