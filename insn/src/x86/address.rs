//! Memory operands, encoded by modrm or implicit.

use super::codes::{attr, implicit, size, space};
use super::form::Form;
use super::insn::{NO_SEGMENT, ext, shape};
use super::{Bits, Insn, Memory, Reg, Vendor};
use crate::Access;

impl Insn {
    /// The memory operand of modrm or `moffs`. Its address uses the values of registers *before* the instruction.
    ///
    /// `bt`, `bts`, `btr` and `btc` with a bit number in a register access memory at a distance from there that depends on the number.
    pub fn memory(&self) -> Option<Memory> {
        let form = self.form();
        self.memory_of(&form, self.size_of(&form))
    }
    #[inline]
    pub(super) fn memory_of(&self, form: &Form, operand_size: u8) -> Option<Memory> {
        if self.shape & (shape::MOFFS | shape::MODRM) == 0 || self.is_register_form() {
            return None;
        }
        let (access, size) = form.memory();
        let mut memory = self.at(None, access, self.memory_size(form, size, operand_size));
        if self.shape & shape::MOFFS != 0 {
            memory.displacement = self.immediate()?.value;
            return Some(memory);
        }
        let (sib, size) = self.after_modrm();
        if size != 0 {
            let scale = if size == 1 { self.displacement_scale(form, memory.size) } else { 1 };
            memory.displacement = self.value(u32::from(self.opcode_at + 2 + sib), size.into()).wrapping_mul(scale);
        }
        let modrm = self.modrm()?;
        if self.address_size() == 2 {
            address_16(modrm, &mut memory);
        } else {
            let sib = (sib != 0).then_some(self.bytes[usize::from(self.opcode_at + 2) & 15]);
            self.address(modrm, sib, form.has(attr::VECTOR_INDEX), &mut memory);
        }
        // `pop` computes the address with rsp after the pop (SDM vol. 2B, POP).
        if memory.base == Some(Reg::RSP) && form.implicit_memory() == implicit::POP {
            memory.displacement = memory.displacement.wrapping_add(i64::from(operand_size));
        }
        if self.segment == NO_SEGMENT && matches!(memory.base, Some(Reg::RSP | Reg::RBP)) {
            memory.segment = Reg::SS;
        }
        Some(memory)
    }
    /// A memory operand addressed by a register in the data segment.
    fn at(&self, base: Option<Reg>, access: Access, size: u16) -> Memory {
        let segment = if self.segment == NO_SEGMENT { Reg::DS } else { Reg::segment(self.segment) };
        Memory {
            segment,
            base,
            index: None,
            scale: 1,
            displacement: 0,
            size,
            address_size: self.address_size(),
            access,
        }
    }
    /// The factor of EVEX's disp8: the size of the memory operand or of an element (SDM vol. 2A 2.7.5).
    #[inline]
    fn displacement_scale(&self, form: &Form, size: u16) -> i64 {
        if !form.has(attr::SCALED) {
            return 1;
        }
        match form.scale() {
            _ if self.is_broadcast(form) => i64::from(form.broadcast()),
            0 => i64::from(size.max(1)),
            scale => i64::from(scale),
        }
    }
    fn is_broadcast(&self, form: &Form) -> bool {
        form.broadcast() != 0 && self.p2 & 0x10 != 0
    }
    /// The vector length in bytes.
    fn vector_size(&self) -> u16 {
        16 << (self.p2 >> 5 & 3)
    }
    #[inline]
    fn memory_size(&self, form: &Form, code: u8, operand_size: u8) -> u16 {
        match code {
            size::V => u16::from(operand_size),
            code if code < size::FIRST && form.broadcast() == 0 => u16::from(code),
            _ => self.other_memory_size(form, code, operand_size),
        }
    }
    #[inline(never)]
    fn other_memory_size(&self, form: &Form, code: u8, operand_size: u8) -> u16 {
        if self.is_broadcast(form) {
            return u16::from(form.broadcast());
        }
        let operand = u16::from(operand_size);
        let long = self.mode.bits == Bits::B64;
        let y = if long && self.w() { 8 } else { 4 };
        let small = operand == 2;
        match code {
            0..size::FIRST => u16::from(code),
            size::V => operand,
            size::Z => operand.min(4),
            size::Y => y,
            size::P if self.mode.vendor == Vendor::Amd => operand.min(4) + 2,
            size::P => operand + 2,
            size::S if long => 10,
            size::S => 6,
            size::A => operand * 2,
            size::X => self.vector_size(),
            size::H => self.vector_size() / 2,
            size::F => self.vector_size() / 4,
            size::E => self.vector_size() / 8,
            size::N if small => 14,
            size::N => 28,
            size::K if small => 94,
            size::K => 108,
            size::J => y * 2,
            // On Zen 4 `movsxd` reads four bytes with any prefix.
            size::M if small && self.mode.vendor == Vendor::Intel => 2,
            size::M => 4,
            _ => 512,
        }
    }
    #[inline]
    fn address(&self, modrm: u8, sib: Option<u8>, vector: bool, memory: &mut Memory) {
        let b = (self.ext & ext::B) << 3 | (self.ext & ext::B4) >> 1;
        let mode = modrm >> 6;
        let Some(sib) = sib else {
            memory.base = if mode == 0 && modrm & 7 == 5 {
                (self.mode.bits == Bits::B64).then_some(Reg::RIP)
            } else {
                Some(Reg::gpr(modrm & 7 | b))
            };
            return;
        };
        if sib & 7 != 5 || mode != 0 {
            memory.base = Some(Reg::gpr(sib & 7 | b));
        }
        let index = sib >> 3 & 7 | (self.ext & ext::X) << 2;
        if vector {
            let high = if self.is_evex() { self.vvvv & 16 } else { 0 };
            memory.index = Some(Reg::vector(index | high));
        } else if index | (self.ext & ext::X4) >> 2 != 4 {
            memory.index = Some(Reg::gpr(index | (self.ext & ext::X4) >> 2));
        }
        memory.scale = 1 << (sib >> 6);
    }
    /// Memory operands that modrm does not encode, at most two: string elements, pushes and pops, `maskmov`, `xlat` and others.
    ///
    /// The displacement of a stack access is relative to rsp *before* the instruction. For `xlat` only al of the index rax counts. The address
    /// of `clzero` is rounded down to its size.
    pub fn implicit_memory(&self) -> [Option<Memory>; 2] {
        let form = self.form();
        self.implicit_memory_of(&form, self.size_of(&form))
    }
    #[inline]
    pub(super) fn implicit_memory_of(&self, form: &Form, operand_size: u8) -> [Option<Memory>; 2] {
        // Only string instructions can be repeated.
        if form.has(attr::REP) {
            return self.string_memory(form, operand_size);
        }
        if form.implicit_memory() == 0 {
            return [None; 2];
        }
        let n = u16::from(operand_size);
        let push = |size: u16| self.stack(-i64::from(size), size, Access::Write);
        let pop = |size: u16| self.stack(0, size, Access::Read);
        let one = match form.implicit_memory() {
            implicit::PUSH if self.space == space::ONE_BYTE && self.opcode == 0xc8 => return self.enter_memory(n),
            implicit::PUSH => push(n),
            implicit::POP => pop(n),
            implicit::PUSH_FAR => push(2 * n),
            implicit::POP_FAR => pop(2 * n),
            implicit::PUSHA => push(8 * n),
            implicit::POPA => pop(8 * n),
            implicit::LEAVE => Memory { base: Some(Reg::RBP), ..pop(n) },
            implicit::IRET if self.mode.bits == Bits::B64 => pop(5 * n),
            implicit::IRET => pop(3 * n),
            implicit::PUSH2 => push(16),
            implicit::POP2 => pop(16),
            implicit::XLAT => Memory { index: Some(Reg::RAX), ..self.at(Some(Reg::RBX), Access::Read, 1) },
            implicit::MASKMOV => self.at(Some(Reg::RDI), Access::Write, 16),
            implicit::MASKMOV_MMX => self.at(Some(Reg::RDI), Access::Write, 8),
            implicit::CLZERO => self.at(Some(Reg::RAX), Access::Write, 64),
            implicit::MOVDIR64B => {
                Memory { segment: Reg::ES, ..self.at(Some(Reg::gpr(self.reg())), Access::Write, 64) }
            }
            _ => return [None; 2],
        };
        [Some(one), None]
    }
    fn stack(&self, displacement: i64, size: u16, access: Access) -> Memory {
        let address_size = match self.mode.bits {
            Bits::B64 => 8,
            Bits::B32 => 4,
            Bits::B16 => 2,
        };
        Memory { segment: Reg::SS, displacement, address_size, ..self.at(Some(Reg::RSP), access, size) }
    }
    /// `enter` pushes rbp, one frame pointer less than its nesting level, and the new frame pointer.
    fn enter_memory(&self, n: u16) -> [Option<Memory>; 2] {
        let level = self.immediate2().map_or(0, |field| field.value as u16 & 31);
        let pushed = n * (level + 1);
        let write = self.stack(-i64::from(pushed), pushed, Access::Write);
        let copied = n * level.saturating_sub(1);
        let read = Memory { base: Some(Reg::RBP), ..self.stack(-i64::from(copied), copied, Access::Read) };
        [Some(write), (copied != 0).then_some(read)]
    }
    fn string_memory(&self, form: &Form, operand_size: u8) -> [Option<Memory>; 2] {
        let mut found = [None; 2];
        let size = self.memory_size(form, form.memory().1, operand_size);
        for (slot, (is_source, access)) in found.iter_mut().zip(form.strings()) {
            *slot = Some(if is_source {
                self.at(Some(Reg::RSI), access, size)
            } else {
                Memory { segment: Reg::ES, ..self.at(Some(Reg::RDI), access, size) }
            });
        }
        found
    }
    /// Whether the memory operand is relative to the end of the instruction.
    pub fn is_rip_relative(&self) -> bool {
        self.mode.bits == Bits::B64 && !self.is_register_form() && self.modrm().is_some_and(|modrm| modrm & 0xc7 == 5)
    }
    /// The address of a rip-relative operand of the instruction at `pc`.
    pub fn rip_relative_address(&self, pc: u64) -> Option<u64> {
        if !self.is_rip_relative() {
            return None;
        }
        let address = pc.wrapping_add(u64::from(self.len)).wrapping_add_signed(self.displacement()?.value);
        Some(if self.address_size() == 4 { address & 0xffff_ffff } else { address })
    }
}

fn address_16(modrm: u8, memory: &mut Memory) {
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
