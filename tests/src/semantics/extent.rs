//! The bytes of memory that `insn` says an instruction accesses, for given registers.

use insn::Access;
use insn::x86::{Bits, Effects, Encoding, Flags, Insn, Map, Memory, Prefixes, Reg};

use crate::lockstep::State;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) access: Access,
}

impl Extent {
    pub(super) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.len
    }

    pub(super) fn is_read(&self) -> bool {
        matches!(self.access, Access::Read | Access::ReadWrite)
    }

    pub(super) fn is_written(&self) -> bool {
        matches!(self.access, Access::Write | Access::ReadWrite)
    }
}

/// What of a state save area is not told by the instruction's bytes: no more than 11,008 bytes, with the tiles of AMX (SDM vol. 1, 13.5).
const UNTOLD: u64 = 0x2b00;

/// Everywhere: where the address of the first byte is not all that chooses.
fn everywhere(access: Access) -> Extent {
    Extent { start: 0, len: u64::MAX, access }
}

/// All operands in memory.
pub(super) fn extents(insn: &Insn, state: &State) -> Vec<Extent> {
    let effects = insn.effects();
    let explicit = effects.memory.into_iter().map(|memory| {
        if memory.index.is_some_and(|index| index.as_gpr().is_none()) || is_bit_string(insn) {
            return everywhere(memory.access);
        }
        let len = if memory.size == 0 { UNTOLD } else { u64::from(memory.size) };
        Extent { start: linear(insn, &memory, state), len, access: memory.access }
    });
    let implicit = effects.implicit_memory.into_iter().flatten().map(|memory| {
        let mut extent =
            Extent { start: linear(insn, &memory, state), len: u64::from(memory.size), access: memory.access };
        if is_clzero(insn) {
            extent.start &= !63;
        }
        if is_string(insn) && insn.prefixes().has(Prefixes::REP | Prefixes::REPNE) {
            let elements = count(insn, state).saturating_sub(1).saturating_mul(extent.len);
            let (first, last) = (effective(insn, &memory, state), mask(memory.address_size));
            let down = state.regs.eflags & u64::from(Flags::DF.bits()) != 0;
            // The address goes round in its width.
            if if down { first < elements } else { last - first < elements } {
                return everywhere(memory.access);
            }
            if down {
                extent.start = extent.start.wrapping_sub(elements);
            }
            extent.len = extent.len.saturating_add(elements);
        }
        extent
    });
    explicit.chain(implicit).flat_map(|extent| parts(insn, extent)).collect()
}

/// The extent itself, or in 32-bit code its parts on both sides of the end of memory.
fn parts(insn: &Insn, extent: Extent) -> impl Iterator<Item = Extent> {
    let room = (1_u64 << 32).saturating_sub(extent.start);
    let goes_round = insn.mode().bits != Bits::B64 && extent.len != u64::MAX && extent.len > room;
    let low = Extent { len: if goes_round { room } else { extent.len }, ..extent };
    let high = Extent { start: 0, len: extent.len - low.len, ..extent };
    [Some(low), goes_round.then_some(high)].into_iter().flatten()
}

/// Repetitions left of a string instruction.
fn count(insn: &Insn, state: &State) -> u64 {
    state.regs.rcx & mask(insn.address_size())
}

/// Bit strings reach, by a register, bits outside of their operand (SDM vol. 2A, BT).
pub(super) fn is_bit_string(insn: &Insn) -> bool {
    insn.encoding() == Encoding::Legacy && insn.map() == Map::M0F && matches!(insn.opcode(), 0xa3 | 0xab | 0xb3 | 0xbb)
}

/// `movs`, `cmps`, `stos`, `lods`, `scas`, `ins`, `outs`.
pub(super) fn is_string(insn: &Insn) -> bool {
    insn.encoding() == Encoding::Legacy
        && insn.map() == Map::OneByte
        && matches!(insn.opcode(), 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf)
}

/// All ones in the lowest `bytes` bytes.
pub(super) fn mask(bytes: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8)))
}

/// The linear address of an operand.
pub(super) fn linear(insn: &Insn, memory: &Memory, state: &State) -> u64 {
    let address = base(memory, state).wrapping_add(effective(insn, memory, state));
    if insn.mode().bits == Bits::B64 { address } else { address & 0xffff_ffff }
}

/// Base of the operand's segment.
pub(super) fn base(memory: &Memory, state: &State) -> u64 {
    match memory.segment {
        Reg::FS => state.regs.fs_base,
        Reg::GS => state.regs.gs_base,
        _ => 0,
    }
}

/// The address within the segment.
pub(super) fn effective(insn: &Insn, memory: &Memory, state: &State) -> u64 {
    let register = |reg: Reg| match reg {
        Reg::RIP => state.regs.rip.wrapping_add(insn.len() as u64),
        // `xlat` adds al.
        Reg::RAX if is_xlat(insn) => state.gpr(0) & 0xff,
        _ => reg.as_gpr().map_or(0, |number| state.gpr(number)),
    };
    let base = memory.base.map_or(0, register);
    let index = memory.index.map_or(0, register).wrapping_mul(u64::from(memory.scale));
    base.wrapping_add(index).wrapping_add_signed(memory.displacement) & mask(memory.address_size)
}

/// `clzero` clears the cache line around rax.
fn is_clzero(insn: &Insn) -> bool {
    insn.encoding() == Encoding::Legacy && insn.map() == Map::M0F && insn.opcode() == 1
}

/// Where an instruction can fault apart from its operands: `enter` sees whether its last stack pointer can be written
/// (SDM vol. 2A, ENTER); `retf` on Zen 4 looks at the outer stack's pointer behind what it frees; what UMIP keeps from
/// user code the kernel does, by its own reckoning of the address.
pub(super) fn looked_at(insn: &Insn, effects: &Effects, state: &State) -> Vec<Extent> {
    if insn.encoding() != Encoding::Legacy {
        return Vec::new();
    }
    let extension = insn.modrm().map_or(0, |modrm| modrm >> 3 & 7);
    match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0xca | 0xcb) => {
            let slots = 2 * u64::from(effects.operand_size);
            let freed = insn.immediate().map_or(0, |field| field.value as u64 & 0xffff);
            let wrapped = if insn.mode().bits == Bits::B64 { u64::MAX } else { 0xffff_ffff };
            let start = state.gpr(4).wrapping_add(slots + freed) & wrapped;
            parts(insn, Extent { start, len: slots, access: Access::Read }).collect()
        }
        (Map::OneByte, 0xc8) => vec![everywhere(Access::Write)],
        (Map::M0F, 0x00) if extension < 2 => vec![everywhere(Access::Write)],
        (Map::M0F, 0x01) if matches!(extension, 0 | 1 | 4) => vec![everywhere(Access::Write)],
        _ => Vec::new(),
    }
}

pub(super) fn is_xlat(insn: &Insn) -> bool {
    insn.encoding() == Encoding::Legacy && insn.map() == Map::OneByte && insn.opcode() == 0xd7
}
