//! EVEX's map 4 (APX 3.1.2.3 and the instruction pages).

use insn::x86::{Bits, Encoding, Flags, Insn, Map, Mode, Reg, RegSet, Vendor, decode};

use super::{Effects, Machine, condition};
use crate::Random;

const MODE: Mode = Mode::new(Bits::B64, Vendor::Intel);
/// Bits of the prefix' last byte: a new data destination or a zeroed upper half, and no flags.
const ND: u8 = 0x10;
const NF: u8 = 4;

/// The operand that a new data destination replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Rm,
    Reg,
    /// There is no new one: ND is not allowed, or means a zeroed upper half.
    Same,
}

/// A legacy instruction: what stands before its opcode, a prefix that selects it, and the opcode.
struct Counterpart {
    select: &'static [u8],
    escape: &'static [u8],
    opcode: u8,
    destination: Destination,
}

/// Encodings of every opcode of map 4 with every prefix, W, ND and NF, of registers that legacy encodings name too.
pub fn encodings(random: &mut Random) -> impl Iterator<Item = [u8; 15]> + '_ {
    let payloads = (0..4_u8).flat_map(|pp| [0, 0x80].map(|w| 0x04 | pp | w));
    let payloads = payloads.flat_map(|second| [0, ND, NF, ND | NF].map(|third| (second, third)));
    let opcodes = payloads.flat_map(|payload| (0..=0xff_u8).map(move |opcode| (payload, opcode)));
    let forms = opcodes.flat_map(|form| (0..16_u8).map(move |modrm| (form, modrm)));
    forms.map(move |(((second, third), opcode), form)| {
        let mut bytes = [0; 15];
        random.fill(&mut bytes);
        // vvvv is used with ND alone, but for conditions; R and B name further registers.
        let vvvv = if third & ND != 0 || form & 8 != 0 && matches!(opcode, 0x38..=0x3b | 0x80..=0x85 | 0xf6 | 0xf7) {
            bytes[0] & 0x78
        } else {
            0x78
        };
        let (rxb, modrm) = (bytes[1] & 0xa0 | 0x50, form << 3 & 0x38 | bytes[2] & 7);
        bytes[..6].copy_from_slice(&[0x62, rxb | 4, second | vvvv, third | 8, opcode, modrm]);
        bytes[5] |= if form & 8 == 0 { 0xc0 } else { 0 };
        bytes
    })
}

pub(super) fn model(insn: &Insn) -> Option<Effects> {
    if insn.encoding() != Encoding::Evex || insn.map() != Map::Map4 {
        return None;
    }
    let third = *insn.bytes().get(3)?;
    let (nd, nf) = (third & ND != 0, third & NF != 0);
    let pp = insn.bytes().get(2)? & 3;
    let extension = insn.modrm()? >> 3 & 7;
    let new = Reg::gpr(insn.vvvv());
    // Operands of 16 bits keep what lies above in a register.
    let is_word = pp == 1 && !insn.w();
    let mut machine = Machine::new(insn);
    match (insn.opcode(), pp, extension) {
        // vvvv gets what rsp points at, rm what follows.
        (0x8f, 0, 0) => return Some(machine.pop(8).write(new).pop(8).write(Reg::gpr(insn.rm())).done()),
        (0xff, 0, 6) => return Some(machine.read(new).push(8).read(Reg::gpr(insn.rm())).push(8).done()),
        // movbe, which has no form with two registers elsewhere.
        (0x60, 0 | 1, _) => return Some(machine.read_rm(Reg::gpr).write_word(insn.reg(), is_word).done()),
        (0x61, 0 | 1, _) => return Some(machine.read(Reg::gpr(insn.reg())).write_rm_word(is_word).done()),
        // The operands are compared where the condition holds, else flags come from the prefix.
        (0x38..=0x3b, 0 | 1, _) | (0x84 | 0x85, 0 | 1, _) => {
            machine.read_rm(Reg::gpr).read(Reg::gpr(insn.reg()));
            return Some(conditional(&mut machine, third));
        }
        (0x80 | 0x81 | 0x83, 0 | 1, 7) | (0xf6 | 0xf7, 0 | 1, 0 | 1) => {
            machine.read_rm(Reg::gpr);
            return Some(conditional(&mut machine, third));
        }
        (code @ 0x40..=0x4f, 0 | 1, _) => {
            machine.read_flags(condition(code));
            let reg = Reg::gpr(insn.reg());
            return Some(match (nd, nf) {
                // cfcmov: where the condition does not hold a register becomes 0, memory stays as it is.
                (false, false) => machine.read_rm(Reg::gpr).write_word(insn.reg(), is_word).done(),
                (false, true) => machine.read(reg).write_rm_word(is_word).done(),
                (true, _) => machine.read(reg).read_rm(Reg::gpr).write(new).done(),
            });
        }
        // setcc: a byte, of which ND zeroes all above.
        (code @ 0x40..=0x4f, 3, _) => {
            machine.read_flags(condition(code)).write_rm(Reg::gpr);
            if !nd {
                machine.effects.overwrites = RegSet::EMPTY;
            }
            return Some(machine.done());
        }
        _ => {}
    }
    let counterpart = counterpart(insn.opcode(), pp, extension)?;
    let legacy = decode(&counterpart.bytes(insn, pp), MODE).ok()?;
    let mut effects = super::direct::model(&legacy).unwrap_or_else(|| Effects::told(&legacy));
    if nd && counterpart.destination != Destination::Same {
        let memory = counterpart.destination == Destination::Rm && effects.memory.is_some();
        let old = if counterpart.destination == Destination::Rm { insn.rm() } else { insn.reg() };
        if memory {
            effects.memory = Some(insn::Access::Read);
        } else {
            effects.writes = effects.writes.without(Reg::gpr(old));
        }
        effects.writes = effects.writes.with(new);
    }
    if nd {
        let zeroed = if counterpart.destination == Destination::Same { Reg::gpr(insn.reg()) } else { new };
        effects.overwrites = effects.overwrites.intersection(effects.writes).with(zeroed);
    }
    if nf {
        effects.flags_written = Flags::EMPTY;
        effects.flags_overwritten = Flags::EMPTY;
    }
    Some(effects)
}

/// The condition in the prefix' last byte; 10 and 11 are true and false.
fn conditional(machine: &mut Machine<'_>, third: u8) -> Effects {
    let code = third & 15;
    if !matches!(code, 10 | 11) {
        machine.read_flags(condition(code));
    }
    machine.set_flags(Flags::STATUS).done()
}

/// The legacy instruction that map 4 promotes.
fn counterpart(opcode: u8, pp: u8, extension: u8) -> Option<Counterpart> {
    use Destination::{Reg, Rm, Same};
    let of = |select, escape, opcode, destination| Some(Counterpart { select, escape, opcode, destination });
    let small = pp < 2;
    match opcode {
        0x00 | 0x01 | 0x08 | 0x09 | 0x10 | 0x11 | 0x18 | 0x19 | 0x20 | 0x21 | 0x28 | 0x29 | 0x30 | 0x31 if small => {
            of(&[], &[], opcode, Rm)
        }
        0x02 | 0x03 | 0x0a | 0x0b | 0x12 | 0x13 | 0x1a | 0x1b | 0x22 | 0x23 | 0x2a | 0x2b | 0x32 | 0x33 if small => {
            of(&[], &[], opcode, Reg)
        }
        0x24 | 0x2c if small => of(&[], &[0x0f], opcode | 0x80, Rm),
        0xa5 | 0xad if small => of(&[], &[0x0f], opcode, Rm),
        0x65 if pp == 1 => of(&[0x66], &[0x0f, 0x38], 0xf5, Same),
        0x66 if pp == 0 => of(&[], &[0x0f, 0x38], 0xf6, Same),
        0x66 if pp == 1 => of(&[0x66], &[0x0f, 0x38], 0xf6, Reg),
        0x66 if pp == 2 => of(&[0xf3], &[0x0f, 0x38], 0xf6, Reg),
        0x69 | 0x6b if small => of(&[], &[], opcode, Same),
        0x80 | 0x81 | 0x83 | 0xc0 | 0xc1 | 0xd0..=0xd3 if small => of(&[], &[], opcode, Rm),
        0x88 if small => of(&[0xf3], &[0x0f], 0xb8, Same),
        0xf4 | 0xf5 if small => of(&[0xf3], &[0x0f], opcode - 0xf4 + 0xbc, Same),
        0x8a | 0x8b if small => of(&[], &[0x0f, 0x38], opcode, Same),
        0xaf if small => of(&[], &[0x0f], 0xaf, Reg),
        0xf6 | 0xf7 if small && extension < 4 => of(&[], &[], opcode, Rm),
        0xf6 | 0xf7 if small => of(&[], &[], opcode, Same),
        0xfe | 0xff if small && extension < 2 => of(&[], &[], opcode, Rm),
        0xf0 | 0xf1 if small => of(&[0xf2], &[0x0f, 0x38], opcode, Same),
        0xf0..=0xf2 if pp == 2 => of(&[0x66], &[0x0f, 0x38], opcode - 0xf0 + 0x80, Same),
        0xf8 | 0xf9 | 0xfc => of([&[][..], &[0x66], &[0xf3], &[0xf2]][usize::from(pp)], &[0x0f, 0x38], opcode, Same),
        _ => None,
    }
}

impl Counterpart {
    /// Its encoding with the operands of `insn`, whose registers are below 16.
    fn bytes(&self, insn: &Insn, pp: u8) -> Vec<u8> {
        let first = insn.bytes().get(1).copied().unwrap_or(0);
        // R, X and B are inverted.
        let rex = 0x40 | u8::from(insn.w()) << 3 | !first >> 5 & 7;
        let small: &[u8] = if pp == 1 && self.select != [0x66] { &[0x66] } else { &[] };
        let rest = insn.bytes().get(5..).unwrap_or_default();
        [small, self.select, &[rex], self.escape, &[self.opcode], rest].concat()
    }
}
