//! Every opcode form, as the fields that choose it.

use insn::x86::{Bits, Encoding, Insn, Map, Mode, decode};

/// How an opcode is introduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Legacy prefixes and REX.
    Legacy,
    /// 3DNow!, whose opcode comes last.
    Now,
    /// The prefixes C4 and C5.
    Vex,
    /// The prefix 8F.
    Xop,
    /// The prefix 62.
    Evex,
}

/// What follows the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    /// No modrm byte.
    None,
    /// A modrm byte that names memory.
    Memory,
    /// A modrm byte that names a register; which one, where that chooses the instruction.
    Register(Option<u8>),
}

/// The fields that choose an opcode form; all other fields are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Skeleton {
    /// How the opcode is introduced.
    pub space: Space,
    /// Opcode map: 0 one byte, 1 0F, 2 0F 38, 3 0F 3A, and so on.
    pub map: u8,
    /// The opcode.
    pub opcode: u8,
    /// The prefix that may choose among forms: 0 none, 1 66, 2 F3, 3 F2.
    pub pp: u8,
    /// REX.W and its like.
    pub w: bool,
    /// Vector length.
    pub l: u8,
    /// What modrm says, if there is one.
    pub operand: Operand,
    /// modrm.reg, where that chooses the instruction.
    pub reg: Option<u8>,
}

/// Fields that are free in a skeleton, as [`Skeleton::bytes`] wants them.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// modrm.reg and modrm.rm where they are free.
    pub reg: u8,
    /// modrm.rm where it is free and names a register operand.
    pub rm: u8,
    /// Bits R, X, B of REX, VEX, XOP and EVEX (4, 2, 1) and EVEX's R' (8).
    pub extension: u8,
    /// VEX.vvvv with EVEX's V' as its fifth bit.
    pub vvvv: u8,
    /// EVEX's z (0x80), b (0x10) and mask.
    pub p2: u8,
    /// REX is there though nothing needs it.
    pub rex: bool,
    /// The two-byte VEX where it will do.
    pub short: bool,
}

impl Fields {
    /// All fields zero, except those that must be one when unused.
    pub const PLAIN: Fields = Fields { reg: 0, rm: 0, extension: 0, vvvv: 0, p2: 0, rex: false, short: false };
}

impl Skeleton {
    /// The bytes up to the opcode, and the modrm byte with mod = 3 or with what `memory` says of mod and rm.
    /// 3DNow! has no opcode here.
    pub fn bytes(&self, bits: Bits, fields: Fields, memory: u8) -> Vec<u8> {
        const PREFIX: [u8; 4] = [0, 0x66, 0xf3, 0xf2];
        let wide = bits == Bits::B64;
        let mut bytes = Vec::with_capacity(15);
        let extension = if wide { fields.extension } else { 0 };
        let inverted = !(extension << 5) & 0xe0;
        let w = u8::from(self.w) << 7;
        let vvvv = !fields.vvvv;
        match self.space {
            Space::Legacy | Space::Now => {
                if self.pp != 0 {
                    bytes.push(PREFIX[usize::from(self.pp)]);
                }
                let rex = 0x40 | u8::from(self.w) << 3 | extension & 7;
                if wide && (rex != 0x40 || fields.rex) {
                    bytes.push(rex);
                }
                let escape: &[&[u8]] = &[&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
                bytes.extend(if self.space == Space::Now { &[0x0f, 0x0f] } else { escape[usize::from(self.map)] });
            }
            Space::Vex if fields.short && self.map == 1 && !self.w && extension & 3 == 0 => {
                bytes.extend([0xc5, inverted & 0x80 | vvvv << 3 & 0x78 | self.l << 2 | self.pp]);
            }
            Space::Vex | Space::Xop => {
                let first = if self.space == Space::Vex { 0xc4 } else { 0x8f };
                bytes.extend([first, inverted | self.map, w | vvvv << 3 & 0x78 | self.l << 2 | self.pp]);
            }
            Space::Evex => {
                let r4 = if extension & 8 != 0 { 0 } else { 0x10 };
                let v4 = vvvv >> 1 & 8;
                let second = w | vvvv << 3 & 0x78 | 4 | self.pp;
                bytes.extend([0x62, inverted | r4 | self.map, second, fields.p2 & 0x97 | self.l << 5 | v4]);
            }
        }
        if self.space != Space::Now {
            bytes.push(self.opcode);
        }
        let reg = self.reg.unwrap_or(fields.reg & 7) << 3;
        match self.operand {
            Operand::None => {}
            Operand::Memory => bytes.push(memory & 0xc7 | reg),
            Operand::Register(rm) => bytes.push(0xc0 | reg | rm.unwrap_or(fields.rm & 7)),
        }
        bytes
    }

    /// Whether the instruction has this form: the same bytes may have another form in another mode.
    pub fn is_form_of(&self, insn: &Insn) -> bool {
        let encoding = match self.space {
            Space::Legacy | Space::Now => Encoding::Legacy,
            Space::Vex => Encoding::Vex,
            Space::Xop => Encoding::Xop,
            Space::Evex => Encoding::Evex,
        };
        let map = if self.space == Space::Now { Map::Amd3DNow as u8 } else { self.map };
        (insn.encoding(), insn.map() as u8, insn.opcode()) == (encoding, map, self.opcode)
    }

    /// An instruction of this form with its free fields zero, or as the form wants them.
    pub fn sample(&self, mode: Mode) -> Option<Insn> {
        // modrm's mod and rm for memory, vvvv and EVEX's mask: gathers want a sib byte and a mask, and like AMX three
        // different registers.
        let variants: &[(u8, u8, u8)] = match self.space {
            Space::Legacy | Space::Now | Space::Xop => &[(0, 0, 0)],
            Space::Vex => &[(0, 0, 0), (4, 0, 0), (4, 2, 0)],
            Space::Evex => &[(0, 0, 0), (4, 0, 1), (4, 2, 1)],
        };
        let reg = self.reg.unwrap_or(0);
        variants.iter().find_map(|(memory, vvvv, p2)| {
            let vvvv = if *vvvv == 0 { 0 } else { (reg + vvvv) & 7 };
            let mut bytes = self.bytes(mode.bits, Fields { vvvv, p2: *p2, ..Fields::PLAIN }, *memory);
            if *memory == 4 {
                bytes.push(((reg + 1) & 7) << 3);
            }
            bytes.resize(15, if self.space == Space::Now { self.opcode } else { 0 });
            decode(&bytes, mode).ok().filter(|insn| self.is_form_of(insn))
        })
    }
}

/// All forms that decode in the mode.
pub fn skeletons(mode: Mode) -> Vec<Skeleton> {
    let mut found = Vec::new();
    for (space, maps, lengths) in [
        (Space::Legacy, 0..4, 1),
        (Space::Now, 0..1, 1),
        (Space::Vex, 1..8, 2),
        (Space::Xop, 8..11, 2),
        (Space::Evex, 1..8, 3),
    ] {
        for map in maps {
            for opcode in 0..=255 {
                for choice in 0..8 * lengths {
                    let (pp, w, l) = (choice & 3, choice & 4 != 0, choice >> 3);
                    if w && matches!(space, Space::Legacy | Space::Now) && mode.bits != Bits::B64 {
                        continue;
                    }
                    let form = Skeleton { space, map, opcode, pp, w, l, operand: Operand::None, reg: None };
                    forms(form, mode, &mut found);
                }
            }
        }
    }
    found
}

/// The forms of one opcode: whether modrm is there, and whether its fields choose.
fn forms(form: Skeleton, mode: Mode, found: &mut Vec<Skeleton>) {
    // A prefix or an escape is no opcode, and what begins VEX, XOP and EVEX has a space of its own.
    let escape = form.space == Space::Legacy && form.map == 0;
    let wide = mode.bits == Bits::B64;
    if escape
        && (matches!(form.opcode, 0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
            || wide && matches!(form.opcode, 0x40..=0x4f | 0xd5 | 0x62 | 0xc4 | 0xc5))
    {
        return;
    }
    let has_modrm = |insn: Insn| insn.modrm().is_some();
    let with = |operand, reg| Skeleton { operand, reg, ..form };
    let plain = [Operand::Memory, Operand::Register(None)];
    let any =
        plain.iter().any(|operand| (0..8).any(|reg| with(*operand, Some(reg)).sample(mode).is_some_and(has_modrm)));
    if !any {
        if form.sample(mode).is_some() {
            found.push(form);
        }
        return;
    }
    let signatures = |operand| -> [Option<Signature>; 8] {
        std::array::from_fn(|reg| with(operand, Some(reg as u8)).sample(mode).map(|insn| signature(&insn)))
    };
    for operand in [Operand::Memory, Operand::Register(None)] {
        let by_reg = signatures(operand);
        let chosen = by_reg.iter().any(|signature| *signature != by_reg[0]);
        for reg in 0..if chosen { 8 } else { 1 } {
            let reg = chosen.then_some(reg);
            let by_rm: [Option<Signature>; 8] = std::array::from_fn(|rm| {
                let operand = if operand == Operand::Memory { operand } else { Operand::Register(Some(rm as u8)) };
                with(operand, Some(reg.unwrap_or(0))).sample(mode).map(|insn| signature(&insn))
            });
            if operand != Operand::Memory && by_rm.iter().any(|signature| *signature != by_rm[0]) {
                let valid = (0..8).filter(|rm| by_rm[usize::from(*rm)].is_some());
                found.extend(valid.map(|rm| with(Operand::Register(Some(rm)), reg)));
            } else if by_rm[0].is_some() {
                found.push(with(operand, reg));
            }
        }
    }
}

/// What tells instructions of one opcode apart, whatever their operands.
type Signature = (insn::Flow, u32, u32, u8, Option<(insn::Access, u16)>, usize);

fn signature(insn: &Insn) -> Signature {
    let effects = insn.effects();
    let memory = effects.memory.map(|memory| (memory.access, memory.size));
    let implicit = effects.implicit_memory.iter().flatten().count();
    let (read, written) = (effects.flags_read.bits(), effects.flags_written.bits());
    (insn.flow(), read, written, effects.operand_size, memory, implicit)
}
