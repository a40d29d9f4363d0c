//! Registers and flags that an instruction reads and writes.

use super::codes::{attr, place, space};
use super::form::{Form, Operand};
use super::insn::ext;
use super::{Bits, Flags, Insn, Memory, Prefixes, Reg, RegSet, Vendor};
use crate::Flow;

impl Insn {
    /// Whether modrm.rm is a vector register named with EVEX's X as fifth bit.
    pub(super) fn rm_is_evex_vector(&self) -> bool {
        self.is_evex() && self.space != space::EVEX_MAP4 && self.form().has(attr::VECTOR_RM)
    }
    pub(super) fn is_evex(&self) -> bool {
        (space::EVEX..space::REX2).contains(&self.space)
    }
    /// Effective operand size in bytes (2, 4, 8; 1 for byte forms).
    pub fn operand_size(&self) -> u8 {
        self.size_of(&self.form())
    }
    pub(super) fn size_of(&self, form: &Form) -> u8 {
        let size = self.plain_operand_size();
        if form.has(attr::BYTE) {
            return 1;
        }
        if self.mode.bits != Bits::B64 {
            return size;
        }
        // Near branches are of 64 bits but for 66 on AMD (APM vol. 3, 1.2.7).
        if matches!(self.flow(), Flow::Jump | Flow::ConditionalJump | Flow::Call | Flow::Return) {
            return if size == 2 && self.mode.vendor == Vendor::Amd { 2 } else { 8 };
        }
        let wide = form.has(attr::FORCE_64) || form.has(attr::DEFAULT_64) && size == 4;
        if wide { 8 } else { size }
    }
    /// The register of an operand, if it is one.
    pub(super) fn operand_register(&self, operand: Operand) -> Option<Reg> {
        // Outside 64-bit mode there are eight registers; VEX's and EVEX's further bits are ignored.
        let limit = |n: u8| if self.mode.bits == Bits::B64 { n } else { n & 7 };
        let general = |n: u8| {
            // ah to bh, where no prefix makes them spl to dil.
            let high = operand.byte && self.ext & ext::REX == 0 && !self.is_evex() && (4..8).contains(&n);
            Reg::gpr(if high { n - 4 } else { limit(n) })
        };
        let low = self.modrm().unwrap_or(self.opcode) & 7 | self.extension(ext::B, 8);
        let rm = low | self.extension(ext::B4, 16);
        // REX2's fourth bits extend no vector register.
        let vector_reg = if self.is_evex() { self.reg() } else { self.reg() & 15 };
        let vector_rm = if self.is_evex() { low | self.extension(ext::X, 16) } else { low };
        let register = self.is_register_form();
        Some(match operand.place {
            place::E if register => general(rm),
            place::R | place::Z => general(rm),
            place::G => general(self.reg()),
            place::B => Reg::gpr(limit(self.vvvv)),
            place::W if register => Reg::vector(limit(vector_rm)),
            place::U => Reg::vector(limit(vector_rm)),
            place::V => Reg::vector(limit(vector_reg)),
            place::H => Reg::vector(limit(self.vvvv)),
            place::L => Reg::vector(limit((self.immediate()?.value as u8) >> 4)),
            place::Q if register => Reg::mmx(rm & 7),
            place::N => Reg::mmx(rm & 7),
            place::P => Reg::mmx(self.reg() & 7),
            place::S => Reg::segment(self.reg() & 7),
            place::C | place::D => Reg::SYSTEM,
            place::KG => Reg::mask(self.reg()),
            place::KH => Reg::mask(self.vvvv),
            place::KR => Reg::mask(rm),
            place::KE if register => Reg::mask(rm),
            place::TG => Reg::tile(self.reg()),
            place::TR => Reg::tile(rm),
            place::TH => Reg::tile(self.vvvv),
            place::BG => Reg::bound(self.reg()),
            place::BE if register => Reg::bound(rm),
            fixed if fixed >= place::FIXED => Reg::from_number(fixed & 0x7f),
            _ => return None,
        })
    }
    /// The registers that an operand stands for: most are one, some an aligned group.
    pub(super) fn operand_registers(&self, form: &Form, operand: Operand) -> RegSet {
        let Some(reg) = self.operand_register(operand) else { return RegSet::EMPTY };
        let size = match operand.place {
            place::H if form.has(attr::QUAD) => 4,
            place::KG | place::TG if form.has(attr::PAIR) => 2,
            _ => 1,
        };
        let first = reg.number() / size * size;
        RegSet::from_bits(((1 << size) - 1u128).wrapping_shl(u32::from(first)))
    }
    /// The registers among the operands that are read, and those that are written.
    fn operands_used(&self, form: &Form) -> (RegSet, RegSet) {
        let (mut read, mut written) = (RegSet::EMPTY, RegSet::EMPTY);
        for operand in form.operands() {
            let registers = self.operand_registers(form, operand);
            if operand.is_read() {
                read = read.union(registers);
            }
            if operand.is_written() {
                written = written.union(registers);
            }
        }
        (read, written)
    }
    /// [`Insn::reads`] and [`Insn::writes`].
    #[inline]
    pub(super) fn registers_by(&self, form: &Form, memory: [Option<&Memory>; 3]) -> (RegSet, RegSet) {
        let (read, written) = self.operands_used(form);
        (self.reads_by(form, read, memory), self.writes_by(form, written))
    }
    /// The mask register that EVEX.aaa names, where it masks.
    fn masking(&self, form: &Form) -> Option<Reg> {
        let aaa = self.p2 & 7;
        let masks = self.is_evex() && aaa != 0 && form.has(attr::MASK | attr::MASK_CLEARED);
        masks.then(|| Reg::mask(aaa))
    }
    /// Whether F2 or F3 repeats the instruction.
    pub(super) fn is_repeated(&self, form: &Form) -> bool {
        form.has(attr::REP) && self.prefixes().has(Prefixes::REP | Prefixes::REPNE)
    }
    /// Registers read, implicit ones and those of addresses included.
    ///
    /// What is written in part keeps the rest; that alone does not make it read (`mov al, 1`, `sqrtss xmm0, xmm1`).
    /// What may survive in whole is read: the destination of `cmov`, of a merging mask, of a repeated `lods`. A register
    /// whose value cannot matter is read all the same (`xor eax, eax`). [`Reg::FLAGS`] is a member where
    /// [`Insn::flags_read`] is not empty, [`Reg::MXCSR`] with floating point arithmetic, [`Reg::RIP`] with what is relative
    /// to it or saves it, [`Reg::SSP`] with calls and returns; x87 instructions that use the register stack read and write
    /// all of mm0 to mm7. Of the segments that memory operands use only fs and gs count, as their bases.
    pub fn reads(&self) -> RegSet {
        let form = self.form();
        let [first, second] = self.implicit_memory_of(&form);
        let memory = self.memory_of(&form);
        self.reads_by(&form, self.operands_used(&form).0, [memory.as_ref(), first.as_ref(), second.as_ref()])
    }
    fn reads_by(&self, form: &Form, operands: RegSet, memory: [Option<&Memory>; 3]) -> RegSet {
        let mut set = RegSet::from_bits(form.implicit().0).union(operands);
        let memory = if form.has(attr::NOTHING) { [None; 3] } else { memory };
        if let Some(mask) = self.masking(form) {
            set = set.with(mask);
            let merging = self.p2 & 0x80 == 0 && form.has(attr::MERGES);
            for destination in form.operands().take(usize::from(merging)) {
                set = set.union(self.operand_registers(form, destination));
            }
        }
        set = set.union(self.address_registers(memory));
        if self.is_repeated(form) {
            set = set.with(Reg::RCX);
            if matches!(self.opcode, 0xac | 0xad) {
                set = set.with(Reg::RAX);
            }
        }
        if self.flags_read_by(form).is_empty() { set } else { set.with(Reg::FLAGS) }
    }
    /// Registers of the addresses of memory operands.
    fn address_registers(&self, memory: [Option<&Memory>; 3]) -> RegSet {
        // `lea` computes no linear address.
        let lea = self.space == space::ONE_BYTE && self.opcode == 0x8d;
        let mut set = RegSet::EMPTY;
        for memory in memory.into_iter().flatten() {
            for reg in [memory.base, memory.index].into_iter().flatten() {
                set = set.with(reg);
            }
            set = match memory.segment {
                Reg::FS if !lea => set.with(Reg::FS_BASE),
                Reg::GS if !lea => set.with(Reg::GS_BASE),
                _ => set,
            };
        }
        set
    }
    /// Registers that may be written, implicit ones included.
    ///
    /// A 32-bit write to a general register clears its upper half. Members as in [`Insn::reads`]: [`Reg::FLAGS`] where
    /// [`Insn::flags_written`] is not empty, [`Reg::RIP`] where the flow may leave the next instruction.
    pub fn writes(&self) -> RegSet {
        let form = self.form();
        self.writes_by(&form, self.operands_used(&form).1)
    }
    fn writes_by(&self, form: &Form, operands: RegSet) -> RegSet {
        let mut set = RegSet::from_bits(form.implicit().1).union(operands);
        if let Some(mask) = self.masking(form).filter(|_| form.has(attr::MASK_CLEARED)) {
            set = set.with(mask);
        }
        if self.is_repeated(form) {
            set = set.with(Reg::RCX);
        }
        for (segment, base) in [(Reg::FS, Reg::FS_BASE), (Reg::GS, Reg::GS_BASE)] {
            if set.contains(segment) {
                set = set.with(base);
            }
        }
        if self.flags_written_by(form).is_empty() { set } else { set.with(Reg::FLAGS) }
    }
    /// Flags read. That a shift by cl leaves them alone when cl is 0 does not make them read.
    pub fn flags_read(&self) -> Flags {
        self.flags_read_by(&self.form())
    }
    pub(super) fn flags_read_by(&self, form: &Form) -> Flags {
        let flags = self.in_image(form, form.flags()[0]);
        if form.has(attr::SCC) {
            return flags.union(self.scc_flags());
        }
        if form.has(attr::CONDITION) { flags.union(condition_flags(self.opcode)) } else { flags }
    }
    /// SCC is a condition code, but for 10 and 11: true and false (APX, conditional compare and test).
    fn scc_flags(&self) -> Flags {
        match self.p2 & 15 {
            10 | 11 => Flags::EMPTY,
            condition => condition_flags(condition),
        }
    }
    /// Flags that may be written, those left undefined included.
    pub fn flags_written(&self) -> Flags {
        self.flags_written_by(&self.form())
    }
    pub(super) fn flags_written_by(&self, form: &Form) -> Flags {
        let [_, written, ..] = form.flags();
        self.unless_suppressed(form, written)
    }
    /// Of the flags that a form names, those in its image, and none where NF suppresses them.
    pub(super) fn unless_suppressed(&self, form: &Form, flags: u32) -> Flags {
        let is_suppressed = form.has(attr::NF) && self.is_evex() && self.p2 & 4 != 0;
        if is_suppressed { Flags::EMPTY } else { self.in_image(form, flags) }
    }
    /// Those of the flags that a form names which are in its image in memory, where it has one.
    fn in_image(&self, form: &Form, flags: u32) -> Flags {
        let short = form.has(attr::IMAGE) && self.size_of(form) == 2;
        Flags::from_bits(if short { flags & 0xffff } else { flags })
    }
}

/// Flags that a condition code reads (SDM vol. 1, appendix B).
fn condition_flags(code: u8) -> Flags {
    match code >> 1 & 7 {
        0 => Flags::OF,
        1 => Flags::CF,
        2 => Flags::ZF,
        3 => Flags::CF.union(Flags::ZF),
        4 => Flags::SF,
        5 => Flags::PF,
        6 => Flags::SF.union(Flags::OF),
        _ => Flags::SF.union(Flags::OF).union(Flags::ZF),
    }
}
