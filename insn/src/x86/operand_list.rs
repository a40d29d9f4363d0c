//! Operands as a list: a table of its own (`generated/operand_list.rs`), written by insn/gen/src/x86/operand_list.rs.

use super::codes::{attr, bank, size, space};
use super::form::Form;
use super::generated::operand_list::{LISTS, OPERANDS, PAGES, ROWS};
use super::insn::ext;
use super::operand_codes::{
    ACCESS, BYTE, EXTENSION, GROUP, IMPLICIT, MOST, ROUNDS, SIGNED, SIZE, place, size as more_sizes,
};
use super::{Bits, Insn, Memory, Reg, RegSet, Vendor};
use crate::Access;

/// One operand of an instruction, of [`Insn::operands`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// Bytes: of a register as assemblers name it (`xmm1` has 16, whatever part is used), of memory, of an immediate or a distance as
    /// encoded; 0 where the instruction does not tell.
    pub size: u16,
    /// How it is used.
    pub access: Access,
    /// Assemblers do not write it: `rax` of `mul`, `rsp` and the stack of `push`, both elements of `movsb`.
    pub implicit: bool,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperandKind {
    /// A register, or its low part.
    Register(Reg),
    /// Bits 15 to 8 of a register: `ah`, `ch`, `dh`, `bh`.
    HighByte(Reg),
    /// Several registers in a row, of which the instruction names one (`vp2intersectd`, `v4fmaddps`).
    Registers {
        /// The first of them.
        first: Reg,
        /// How many they are.
        count: u8,
    },
    /// A register of the x87 stack, by its distance from the top: `st(0)` to `st(7)`.
    X87(u8),
    /// Memory: the operand that modrm encodes, or an implicit one.
    Memory(Memory),
    /// An immediate.
    Immediate {
        /// Its value, extended to 64 bits.
        value: i64,
        /// The instruction extends it to the operand size with its sign, and not with zeros.
        signed: bool,
    },
    /// A distance from the end of the instruction.
    Relative(i64),
    /// A far pointer that is part of the instruction.
    Far {
        /// The segment selector.
        selector: u16,
        /// The offset in the segment.
        offset: u64,
    },
    /// A number that the opcode implies: the 1 of `shl eax, 1`.
    Constant(u8),
}

/// Control registers, and what else is no operand in any assembler.
const STATE: RegSet = RegSet::EMPTY
    .with(Reg::FLAGS)
    .with(Reg::RIP)
    .with(Reg::MXCSR)
    .with(Reg::X87)
    .with(Reg::SSP)
    .with(Reg::SYSTEM)
    .with(Reg::TILECFG)
    .with(Reg::BSR0);
const GENERAL: RegSet = RegSet::from_bits(0xffff_ffff);
const MMX: RegSet = RegSet::from_bits(0xff << bank::MMX);

impl Insn {
    /// The operands in the manual's order, then the mask register of EVEX, then implicit operands: memory, then registers.
    ///
    /// The constituents of an address are no operands of their own; [`Memory`] tells them. Nor are flags, `rip`, `mxcsr`, the shadow
    /// stack's pointer, control registers that the instruction does not name, the x87 stack beside the registers that it names, and what
    /// `xsave` and its like save: [`Insn::reads`] and [`Insn::writes`] have these. The destination under a merging mask is read, too.
    /// Of an implicit general register the size is told where the operand size or the address size is its size.
    ///
    /// ```
    /// use insn::Access;
    /// use insn::x86::{Mode, OperandKind, Reg, decode};
    ///
    /// // add $-8, %esi
    /// let insn = decode(&[0x83, 0xc6, 0xf8], Mode::INTEL_64)?;
    /// let mut operands = insn.operands();
    /// let first = operands.next().unwrap();
    /// assert_eq!((first.kind, first.size, first.access), (OperandKind::Register(Reg::RSI), 4, Access::ReadWrite));
    /// let second = operands.next().unwrap();
    /// assert_eq!((second.kind, second.size), (OperandKind::Immediate { value: -8, signed: true }, 1));
    /// assert_eq!(operands.next(), None);
    ///
    /// // push %rbx
    /// let insn = decode(&[0x53], Mode::INTEL_64)?;
    /// let implicit: Vec<_> = insn.operands().filter(|operand| operand.implicit).collect();
    /// assert!(matches!(implicit[0].kind, OperandKind::Memory(memory) if memory.base == Some(Reg::RSP)));
    /// assert_eq!(implicit[1].kind, OperandKind::Register(Reg::RSP));
    /// # Ok::<(), insn::x86::Error>(())
    /// ```
    pub fn operands(&self) -> impl Iterator<Item = Operand> + use<> {
        let insn = *self;
        let form = insn.form();
        let listed = insn.listed().into_iter().filter(|code| *code as u8 != 0).enumerate();
        let listed = listed.flat_map(move |(number, code)| insn.of_code(&form, number, code).into_iter().flatten());
        listed.chain(insn.mask_operand(&form)).chain(insn.other_memory(&form)).chain(insn.implicit_registers(&form))
    }
    /// modrm.reg where it is part of the opcode: the digit that the manual writes as `/6`. [`Insn::reg`] has it, too, but not whether it is
    /// a register.
    ///
    /// ```
    /// use insn::x86::{Mode, decode};
    ///
    /// // shr $3, %ecx; add %ecx, %eax
    /// assert_eq!(decode(&[0xc1, 0xe9, 3], Mode::INTEL_64)?.opcode_extension(), Some(5));
    /// assert_eq!(decode(&[0x01, 0xc8], Mode::INTEL_64)?.opcode_extension(), None);
    /// # Ok::<(), insn::x86::Error>(())
    /// ```
    pub fn opcode_extension(&self) -> Option<u8> {
        let [first, ..] = self.listed();
        if first & EXTENSION == 0 { None } else { Some(self.modrm()? >> 3 & 7) }
    }
    fn listed(&self) -> [u32; MOST] {
        let find = || {
            let row = ROWS.get(usize::from(self.space))?[usize::from(self.opcode >> 4)];
            let list = PAGES.get(usize::from(row))?[usize::from(self.opcode & 15)];
            let number = *LISTS.get(usize::from(list) + self.rule_index()?)?;
            OPERANDS.get(usize::from(number)).copied()
        };
        let mut codes = find().unwrap_or([0; MOST]);
        // W exchanges the last two sources of XOP and FMA4 (APM vol. 6).
        if self.w() {
            match (self.space, self.opcode) {
                (space::XOP_MAP9, 0x90..=0x9b) => codes.swap(1, 2),
                (space::VEX_MAP3 | space::XOP, _) if codes[3] as u8 == place::L => codes.swap(2, 3),
                _ => {}
            }
        }
        codes
    }
    /// The operand of a code; two of an x87 instruction.
    fn of_code(&self, form: &Form, number: usize, code: u32) -> [Option<Operand>; 2] {
        let access = self.access(form, number, code);
        let implicit = code & IMPLICIT != 0;
        let bytes = |field: Option<super::Field>| field.map_or(0, |field| u16::from(field.size));
        let immediate = |field: Option<super::Field>| {
            let field = field?;
            let signed = code & SIGNED != 0;
            let unused = 64 - 8 * u32::from(field.size.clamp(1, 8));
            let unsigned = (field.value as u64).wrapping_shl(unused).wrapping_shr(unused) as i64;
            Some(OperandKind::Immediate { value: if signed { field.value } else { unsigned }, signed })
        };
        let (kind, size) = match code as u8 {
            place::IMMEDIATE => (immediate(self.immediate()), bytes(self.immediate())),
            place::IMMEDIATE_2 => (immediate(self.immediate2()), bytes(self.immediate2())),
            place::IMMEDIATE_LOW => {
                let field = self.immediate();
                let low = |field: super::Field| OperandKind::Immediate { value: field.value & 15, signed: false };
                (field.map(low), bytes(field))
            }
            place::RELATIVE => {
                (self.immediate().map(|field| OperandKind::Relative(field.value)), bytes(self.immediate()))
            }
            place::FAR => (self.far_pointer(), bytes(self.immediate()) + bytes(self.immediate2())),
            place::ONE => (Some(OperandKind::Constant(1)), 0),
            place::X87 => {
                return self.x87_registers().map(|named| {
                    let (number, access) = named?;
                    // `fld` names its source only.
                    let implicit = (self.opcode, access) == (0xd9, Access::Write) && number == 0;
                    Some(Operand { kind: OperandKind::X87(number), size: 10, access, implicit })
                });
            }
            place::X | place::Y => {
                let is_first = form.strings().next().is_none_or(|(source, _)| source == (code as u8 == place::X));
                let [one, other] = self.implicit_memory_of(form, self.size_of(form));
                let memory = if is_first { one } else { other };
                (memory.map(OperandKind::Memory), memory.map_or(0, |memory| memory.size))
            }
            _ => match self.register(code) {
                Some(kind) => (Some(kind), self.register_size(form, code)),
                None => {
                    let memory = self.memory_of(form, self.size_of(form));
                    (memory.map(OperandKind::Memory), memory.map_or(0, |memory| memory.size))
                }
            },
        };
        [kind.map(|kind| Operand { kind, size, access, implicit }), None]
    }
    fn access(&self, form: &Form, number: usize, code: u32) -> Access {
        let is_register = code as u8 != place::W || self.is_register_form();
        let merges = self.is_masked(form) && self.p2 & 0x80 == 0 && form.has(attr::MERGES) && is_register;
        // A repeated `lods` may load nothing.
        let loads = self.is_repeated(form) && matches!(self.opcode, 0xac | 0xad);
        match code >> ACCESS & 3 {
            0 => Access::None,
            1 => Access::Read,
            2 if number == 0 && (merges || loads) => Access::ReadWrite,
            2 => Access::Write,
            _ => Access::ReadWrite,
        }
    }
    fn far_pointer(&self) -> Option<OperandKind> {
        let (offset, selector) = (self.immediate()?, self.immediate2()?);
        let unused = 64 - 8 * u32::from(offset.size.clamp(1, 8));
        let offset = (offset.value as u64).wrapping_shl(unused).wrapping_shr(unused);
        Some(OperandKind::Far { selector: selector.value as u16, offset })
    }
    /// The register of a code, or a group of them.
    fn register(&self, code: u32) -> Option<OperandKind> {
        let modrm = self.modrm().unwrap_or(self.opcode);
        let is_register = self.is_register_form();
        let evex = self.is_evex();
        // Outside 64-bit mode there are eight registers; VEX's and EVEX's further bits are ignored.
        let limit = |n: u8| if self.mode.bits == Bits::B64 { n } else { n & 7 };
        let low = modrm & 7 | self.extension(ext::B, 8);
        let rm = low | self.extension(ext::B4, 16);
        // REX2's fourth bits extend no vector register.
        let vector_reg = if evex { self.reg() } else { self.reg() & 15 };
        let vector_rm = if evex { low | self.extension(ext::X, 16) } else { low };
        let general = |n: u8| {
            let is_high = code & BYTE != 0 && self.ext & ext::REX == 0 && !evex && (4..8).contains(&n);
            if is_high { OperandKind::HighByte(Reg::gpr(n - 4)) } else { OperandKind::Register(Reg::gpr(limit(n))) }
        };
        let vector = |n: u8| Reg::vector(limit(n));
        let reg = match code as u8 {
            place::E if is_register => return Some(general(rm)),
            place::R | place::Z => return Some(general(rm)),
            place::G => return Some(general(self.reg())),
            place::B => Reg::gpr(limit(self.vvvv)),
            place::W if is_register => vector(vector_rm),
            place::U => vector(vector_rm),
            place::V => vector(vector_reg),
            place::H if code & GROUP != 0 => {
                return Some(OperandKind::Registers { first: vector(self.vvvv & !3), count: 4 });
            }
            place::H => vector(self.vvvv),
            place::L => vector((self.immediate()?.value as u8) >> 4),
            place::Q if is_register => Reg::mmx(rm & 7),
            place::N => Reg::mmx(rm & 7),
            place::P => Reg::mmx(self.reg() & 7),
            place::S => Reg::segment(self.reg() & 7),
            place::C | place::D => Reg::SYSTEM,
            place::KG if code & GROUP != 0 => {
                return Some(OperandKind::Registers { first: Reg::mask(self.reg() & 6), count: 2 });
            }
            place::TG if code & GROUP != 0 => {
                return Some(OperandKind::Registers { first: Reg::tile(self.reg() & 6), count: 2 });
            }
            place::KG => Reg::mask(self.reg()),
            place::KH => Reg::mask(self.vvvv),
            place::KR => Reg::mask(rm),
            place::KE if is_register => Reg::mask(rm),
            place::TG => Reg::tile(self.reg()),
            place::TR => Reg::tile(rm),
            place::TH => Reg::tile(self.vvvv),
            place::BG => Reg::bound(self.reg()),
            place::BE if is_register => Reg::bound(rm),
            fixed if fixed >= place::FIXED => Reg::from_number(fixed & 0x7f),
            _ => return None,
        };
        Some(OperandKind::Register(reg))
    }
    /// Bytes of a register as assemblers name it.
    fn register_size(&self, form: &Form, code: u32) -> u16 {
        let length = if code & ROUNDS != 0 && self.is_evex() && self.p2 & 0x10 != 0 && self.is_register_form() {
            64
        } else {
            16 << (self.p2 >> 5 & 3)
        };
        let operand = u16::from(self.size_of(form));
        let is_long = self.mode.bits == Bits::B64;
        let wide = if is_long && self.w() { 8 } else { 4 };
        let size = match (code >> SIZE) as u8 {
            size::V => operand,
            size::Z => operand.min(4),
            size::Y | size::J => wide,
            size::M if operand == 2 && self.mode.vendor == Vendor::Intel => 2,
            size::M => 4,
            size::X => length,
            size::H => length / 2,
            size::F => length / 4,
            size::E => length / 8,
            more_sizes::ADDRESS => u16::from(self.address_size()),
            more_sizes::LONG if is_long => 8,
            more_sizes::LONG => 4,
            bytes @ 0..size::FIRST => u16::from(bytes),
            _ => 0,
        };
        match code as u8 {
            place::V | place::W | place::U | place::H | place::L => size.max(16),
            place::E if code & BYTE == 0 && size <= 4 && self.is_whole_register() => wide,
            place::E if self.stores_selector() => operand,
            place::KE => 8,
            place::BE => 16,
            place::Q => 8,
            _ => size,
        }
    }
    /// Whether a general register is named in whole where memory has less: `pinsrw`, `pextrb`, `extractps`, `vmovw`.
    fn is_whole_register(&self) -> bool {
        match self.space {
            space::TWO_BYTE => self.opcode == 0xc4,
            space::M0F3A | space::VEX_MAP3 | space::EVEX_MAP3 => true,
            space::VEX | space::EVEX => self.opcode == 0xc4,
            space::EVEX_MAP5 => matches!(self.opcode, 0x6e | 0x7e),
            _ => false,
        }
    }
    /// Whether a register of the operand size is named where memory has a selector or status word: `mov`, `sldt`, `str`, `smsw`; `lar`, `lsl`.
    fn stores_selector(&self) -> bool {
        let reg = self.modrm().unwrap_or(0) >> 3 & 7;
        match (self.space, self.opcode) {
            (space::ONE_BYTE, 0x8c) | (space::TWO_BYTE, 2 | 3) => true,
            (space::TWO_BYTE, 0) => reg < 2,
            (space::TWO_BYTE, 1) => reg == 4,
            _ => false,
        }
    }
    fn is_masked(&self, form: &Form) -> bool {
        self.is_evex() && self.p2 & 7 != 0 && form.has(attr::MASK | attr::MASK_CLEARED)
    }
    fn mask_operand(&self, form: &Form) -> Option<Operand> {
        let access = if form.has(attr::MASK_CLEARED) { Access::ReadWrite } else { Access::Read };
        let kind = OperandKind::Register(Reg::mask(self.p2 & 7));
        self.is_masked(form).then_some(Operand { kind, size: 8, access, implicit: false })
    }
    /// Implicit memory that the table does not list.
    fn other_memory(&self, form: &Form) -> impl Iterator<Item = Operand> + use<> {
        let is_string = form.has(attr::REP);
        let memory = if is_string { [None; 2] } else { self.implicit_memory_of(form, self.size_of(form)) };
        memory.into_iter().flatten().map(|memory| {
            let (kind, access) = (OperandKind::Memory(memory), memory.access);
            Operand { kind, size: memory.size, access, implicit: true }
        })
    }
    fn implicit_registers(&self, form: &Form) -> impl Iterator<Item = Operand> + use<> {
        let insn = *self;
        let implied = form.implied(false);
        // The form implies the fixed registers that are listed, too.
        let fixed = self.listed().into_iter().map(|code| code as u8).filter(|place| *place >= place::FIXED);
        let listed = fixed.fold(RegSet::EMPTY, |set, fixed| set.with(Reg::from_number(fixed & 0x7f)));
        let of = |bits| RegSet::from_bits(bits).difference(listed);
        let (mut read, mut written) = (of(implied.read), of(implied.written));
        if self.is_repeated(form) {
            (read, written) = (read.with(Reg::RCX), written.with(Reg::RCX));
        }
        // What has the x87 stack as a whole has all state.
        let is_state = !read.union(written).intersection(MMX).is_empty();
        let outside = if is_state { GENERAL.with(Reg::XCR0).complement() } else { STATE };
        let sized = self.is_multiplication_or_exchange();
        let is_string = form.has(attr::REP);
        let operand_size = u16::from(self.size_of(form));
        read.union(written).difference(outside).iter().map(move |reg| {
            let access = match (read.contains(reg), written.contains(reg)) {
                (true, true) => Access::ReadWrite,
                (false, _) => Access::Write,
                _ => Access::Read,
            };
            let size = match reg {
                Reg::RSP => insn.stack_size(),
                Reg::RCX | Reg::RSI | Reg::RDI if is_string => u16::from(insn.address_size()),
                _ if reg.as_gpr().is_some() && sized => operand_size,
                _ => 0,
            };
            Operand { kind: OperandKind::Register(reg), size, access, implicit: true }
        })
    }
    /// Whether its implicit registers are of the operand size: `mul`, `div`, `cmpxchg`.
    fn is_multiplication_or_exchange(&self) -> bool {
        match self.space {
            space::ONE_BYTE | space::EVEX_MAP4 => matches!(self.opcode, 0xf6 | 0xf7),
            space::TWO_BYTE => matches!(self.opcode, 0xb0 | 0xb1),
            _ => false,
        }
    }
    fn stack_size(&self) -> u16 {
        match self.mode.bits {
            Bits::B64 => 8,
            Bits::B32 => 4,
            Bits::B16 => 2,
        }
    }
}
