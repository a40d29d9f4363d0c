//! Flow of control, and targets of branches.

use super::chunk::MAX_LEN;
use super::codes::{flow, space};
use super::general::decode_packed;
use super::insn::{BRANCHES, Packed, ext, shape};
use super::{Insn, Mode, Reg, Vendor};
use crate::{Flow, Target};

/// By the low four bits of `Insn::flow`.
const FLOWS: [Flow; 16] = {
    let mut flows = [Flow::Next; 16];
    flows[flow::JUMP as usize] = Flow::Jump;
    flows[flow::CONDITIONAL_JUMP as usize] = Flow::ConditionalJump;
    flows[flow::CALL as usize] = Flow::Call;
    flows[flow::RETURN as usize] = Flow::Return;
    flows[flow::SYSCALL as usize] = Flow::Syscall;
    flows[flow::INTERRUPT as usize] = Flow::Interrupt;
    flows[flow::TRAP as usize] = Flow::Trap;
    flows[flow::FAR as usize] = Flow::Far;
    flows[flow::TRANSACTION as usize] = Flow::Transaction;
    flows[flow::PRIVILEGED as usize] = Flow::Privileged;
    flows[flow::FAULTING as usize] = Flow::Faulting;
    flows[flow::INDIRECT_JUMP as usize] = Flow::Jump;
    flows[flow::INDIRECT_CALL as usize] = Flow::Call;
    flows
};

/// The target of a rare instruction, from its bytes alone: if the caller kept all fields in registers, every instruction would pay for it.
#[inline(never)]
fn other_target(bytes: u128, mode: Mode) -> Target<Reg> {
    let rex = bytes & 0xf0 == 0x40;
    let [opcode, modrm, ..] = (bytes >> if rex { 8 } else { 0 }).to_le_bytes();
    if opcode == 0xff && matches!(modrm >> 3 & 7, 2 | 4) {
        if modrm < 0xc0 {
            return Target::Memory;
        }
        return Target::Register(Reg::gpr(modrm & 7 | if rex { (bytes as u8 & ext::B) << 3 } else { 0 }));
    }
    let bytes = bytes.to_le_bytes();
    let Some(chunk) = bytes.first_chunk::<MAX_LEN>() else { return Target::None };
    let Ok(packed) = Packed::of_words(decode_packed(chunk, mode)) else { return Target::None };
    let insn = packed.unpack(bytes, mode);
    match insn.flow() {
        Flow::Jump | Flow::ConditionalJump | Flow::Call => insn.near_target(),
        Flow::Transaction if insn.opcode == 0xc7 => insn.relative(),
        Flow::Far => insn.far_target(),
        _ => Target::None,
    }
}

impl Insn {
    /// What the instruction does to the flow of control.
    #[inline]
    pub fn flow(&self) -> Flow {
        FLOWS[usize::from(self.flow & 15)]
    }
    /// The target of a change of flow.
    #[inline(always)]
    pub fn target(&self) -> Target<Reg> {
        let bytes = u128::from_le_bytes(self.bytes);
        if self.flow > flow::RETURN {
            return other_target(bytes, self.mode);
        }
        // It has one byte or four.
        let distance = if self.tail & 4 != 0 { i64::from(self.behind as i32) } else { i64::from(self.behind as i8) };
        // A conditional move, not a branch: no processor predicts which instruction is a branch.
        let mut target = Target::Relative(distance);
        if !BRANCHES.contains(&self.flow) {
            target = if self.flow == flow::RETURN { Target::Stack } else { Target::None };
        }
        target
    }
    #[inline(never)]
    fn relative(&self) -> Target<Reg> {
        self.immediate().map_or(Target::None, |field| Target::Relative(field.value))
    }
    fn near_target(&self) -> Target<Reg> {
        if self.space == space::REX2 {
            return self.immediate().map_or(Target::None, |field| Target::Absolute(field.value as u64));
        }
        if self.shape & shape::MODRM == 0 {
            return self.relative();
        }
        if self.is_register_form() { Target::Register(Reg::gpr(self.rm_general())) } else { Target::Memory }
    }
    fn far_target(&self) -> Target<Reg> {
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
    /// The target address of a direct branch at `pc`, truncated by operand size and vendor; `None` for other instructions.
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
    /// Number of bytes of rip that a near branch keeps.
    fn branch_size(&self) -> u8 {
        match (self.mode.bits, self.plain_operand_size()) {
            (super::Bits::B64, 2) if self.mode.vendor == Vendor::Amd => 2,
            (super::Bits::B64, _) => 8,
            (_, size) => size,
        }
    }
}
