//! What an instruction reads and writes.

use super::general::space;
use super::insn::{NO_SEGMENT, ext, shape};
use super::{Bits, Flags, Insn, Memory, Reg, RegSet};
use crate::Access;

impl Insn {
    /// Whether modrm.rm is a vector register named with EVEX's X as fifth bit.
    pub(super) fn rm_is_evex_vector(&self) -> bool {
        (space::EVEX..space::REX2).contains(&self.space) && self.space != space::EVEX_MAP4
    }
    /// Effective operand size in bytes (2, 4, 8; 1 for byte forms).
    pub fn operand_size(&self) -> u8 {
        self.plain_operand_size()
    }
    /// The memory operand of modrm or `moffs`.
    pub fn memory(&self) -> Option<Memory> {
        let displacement = self.displacement().map_or(0, |field| field.value);
        let address_size = self.address_size();
        let mut memory = Memory {
            segment: Reg::DS,
            base: None,
            index: None,
            scale: 1,
            displacement,
            size: 0,
            address_size,
            access: Access::None,
        };
        if self.shape & shape::MOFFS != 0 {
            memory.displacement = self.immediate()?.value;
        } else {
            let modrm = self.modrm()?;
            if self.is_register_form() {
                return None;
            }
            if address_size == 2 { self.address_16(modrm, &mut memory) } else { self.address(modrm, &mut memory) }
        }
        if matches!(memory.base, Some(Reg::RSP | Reg::RBP)) {
            memory.segment = Reg::SS;
        }
        if self.segment != NO_SEGMENT {
            memory.segment = Reg::segment(self.segment);
        } else if self.mode.bits == Bits::B64 && memory.segment == Reg::SS {
            memory.segment = Reg::SS;
        }
        Some(memory)
    }
    fn address_16(&self, modrm: u8, memory: &mut Memory) {
        let (base, index) = match modrm & 7 {
            0 => (Reg::RBX, Some(Reg::RSI)),
            1 => (Reg::RBX, Some(Reg::RDI)),
            2 => (Reg::RBP, Some(Reg::RSI)),
            3 => (Reg::RBP, Some(Reg::RDI)),
            4 => (Reg::RSI, None),
            5 => (Reg::RDI, None),
            6 if modrm >> 6 == 0 => return,
            6 => (Reg::RBP, None),
            _ => (Reg::RBX, None),
        };
        memory.base = Some(base);
        memory.index = index;
    }
    fn address(&self, modrm: u8, memory: &mut Memory) {
        let b = self.extension(ext::B, 8) | self.extension(ext::B4, 16);
        let x = self.extension(ext::X, 8) | self.extension(ext::X4, 16);
        let mode = modrm >> 6;
        match self.sib() {
            Some(sib) => {
                if sib & 7 != 5 || mode != 0 {
                    memory.base = Some(Reg::gpr(sib & 7 | b));
                }
                let index = sib >> 3 & 7 | x;
                if index != 4 {
                    memory.index = Some(Reg::gpr(index));
                }
                memory.scale = 1 << (sib >> 6);
            }
            None if mode == 0 && modrm & 7 == 5 => {
                memory.base = (self.mode.bits == Bits::B64).then_some(Reg::RIP);
            }
            None => memory.base = Some(Reg::gpr(modrm & 7 | b)),
        }
    }
    /// Memory operands that no modrm encodes: string elements, stack pushes and pops, `maskmov`, `xlat`.
    /// At most two; a stack access has its address *before* the instruction as displacement from rsp.
    pub fn implicit_memory(&self) -> [Option<Memory>; 2] {
        [None; 2]
    }
    /// Whether the memory operand is relative to the end of the instruction.
    pub fn is_rip_relative(&self) -> bool {
        self.mode.bits == Bits::B64
            && self.shape & shape::ANY_MOD == 0
            && self.modrm().is_some_and(|modrm| modrm & 0xc7 == 5)
    }
    /// The address of a rip-relative operand of the instruction at `pc`.
    pub fn rip_relative_address(&self, pc: u64) -> Option<u64> {
        if !self.is_rip_relative() {
            return None;
        }
        let address = pc.wrapping_add(u64::from(self.len)).wrapping_add_signed(self.displacement()?.value);
        Some(if self.address_size() == 4 { address & 0xffff_ffff } else { address })
    }
    /// Registers read, implicit ones and those of addresses included.
    ///
    /// A register of which only a part is written keeps the rest; that alone does not make it read.
    pub fn reads(&self) -> RegSet {
        RegSet::EMPTY
    }
    /// Registers that may be written, implicit ones included.
    pub fn writes(&self) -> RegSet {
        RegSet::EMPTY
    }
    /// Flags read.
    pub fn flags_read(&self) -> Flags {
        Flags::EMPTY
    }
    /// Flags that may be written, those left undefined included.
    pub fn flags_written(&self) -> Flags {
        Flags::EMPTY
    }
}
