//! Where control goes.

use super::general::space;
use super::insn::{Packed, ext, first_word, shape};
use super::{Insn, MAX_LEN, Mode, Reg, Vendor, general};
use crate::{Flow, Target};

const FLOWS: [Flow; 16] = [
    Flow::Next,
    Flow::Jump,
    Flow::ConditionalJump,
    Flow::Call,
    Flow::Return,
    Flow::Syscall,
    Flow::Interrupt,
    Flow::Trap,
    Flow::Far,
    Flow::Transaction,
    Flow::Privileged,
    Flow::Faulting,
    Flow::Next,
    Flow::Next,
    Flow::Next,
    Flow::Next,
];

/// The target of what is rare, from the bytes alone.
#[inline(never)]
fn other_target(bytes: [u8; MAX_LEN], mode: Mode) -> Target {
    let Ok(packed) = Packed::of_words(general::decode_packed(&bytes, mode)) else { return Target::None };
    let insn = packed.unpack(bytes, mode);
    match insn.flow() {
        Flow::Jump | Flow::ConditionalJump | Flow::Call => insn.near_target(),
        Flow::Return => Target::Stack,
        Flow::Transaction if insn.opcode == 0xc7 => insn.relative(),
        Flow::Far => insn.far_target(),
        _ => Target::None,
    }
}

impl Insn {
    /// What it does to the flow of control.
    #[inline]
    pub fn flow(&self) -> Flow {
        FLOWS[usize::from(self.flow & 15)]
    }
    /// Where a change of flow goes.
    #[inline(always)]
    pub fn target(&self) -> Target {
        const NEXT: u8 = Flow::Next as u8;
        const RETURN: u8 = Flow::Return as u8;
        const JUMP: u8 = Flow::Jump as u8;
        const CONDITIONAL: u8 = Flow::ConditionalJump as u8;
        const CALL: u8 = Flow::Call as u8;
        if self.flow == NEXT {
            return Target::None;
        }
        let branch = matches!(self.flow, JUMP | CONDITIONAL | CALL);
        let plain = self.shape & shape::PLAIN != 0;
        if self.flow > RETURN || branch & !plain {
            // By the bytes alone: keeping all fields at hand for these few would cost every instruction.
            return other_target(self.bytes, self.mode);
        }
        // The distance ends the first word.
        let word = first_word(&self.bytes);
        let end = word.wrapping_shl(0u32.wrapping_sub(8 * u32::from(self.len))) as i64;
        let distance = end.wrapping_shr(0u32.wrapping_sub(8 * u32::from(self.tail)));
        if branch & (self.shape & shape::MODRM == 0) {
            return Target::Relative(distance);
        }
        match self.flow {
            RETURN => Target::Stack,
            _ => {
                let modrm = word.wrapping_shr(8 * (u32::from(self.opcode_at) + 1)) as u8;
                if modrm < 0xc0 {
                    return Target::Memory;
                }
                Target::Register(Reg::gpr(modrm & 7 | self.extension(ext::B, 8)))
            }
        }
    }
    #[inline(never)]
    fn relative(&self) -> Target {
        self.immediate().map_or(Target::None, |field| Target::Relative(field.value))
    }
    fn near_target(&self) -> Target {
        if self.space == space::REX2 {
            return self.immediate().map_or(Target::None, |field| Target::Absolute(field.value as u64));
        }
        if self.shape & shape::MODRM == 0 {
            return self.relative();
        }
        if self.is_register_form() { Target::Register(Reg::gpr(self.rm_general())) } else { Target::Memory }
    }
    fn far_target(&self) -> Target {
        match (self.space, self.opcode) {
            (space::ONE_BYTE, 0x9a | 0xea) => self.immediate().map_or(Target::None, |field| {
                let unused = 64 - 8 * u32::from(field.size.clamp(1, 8));
                Target::Absolute((field.value as u64).wrapping_shl(unused).wrapping_shr(unused))
            }),
            (space::ONE_BYTE, 0xff) => Target::Memory,
            (space::ONE_BYTE, 0xca | 0xcb | 0xcf) => Target::Stack,
            (space::TWO_BYTE, 0x01) if self.pp == 2 => Target::Stack,
            _ => Target::None,
        }
    }
    /// The target address of a direct branch at `pc`, truncated as the operand size and vendor command.
    pub fn target_address(&self, pc: u64) -> Option<u64> {
        let distance = match self.target() {
            Target::Relative(distance) => distance,
            Target::Absolute(address) => return Some(address),
            _ => return None,
        };
        let target = pc.wrapping_add(u64::from(self.len)).wrapping_add_signed(distance);
        Some(match self.branch_size() {
            2 => target & 0xffff,
            4 => target & 0xffff_ffff,
            _ => target,
        })
    }
    /// Bytes of rip that a near branch leaves.
    fn branch_size(&self) -> u8 {
        match (self.mode.bits, self.plain_operand_size()) {
            (super::Bits::B64, 2) if self.mode.vendor == Vendor::Amd => 2,
            (super::Bits::B64, _) => 8,
            (_, size) => size,
        }
    }
}
