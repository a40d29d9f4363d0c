//! VEX, XOP and EVEX.

use super::codes::rule::{check, immediate};
use super::codes::space;
use super::decoder::Decoder;
use super::insn::{ext, shape};
use super::{Bits, Error, ErrorKind, Prefixes};

/// The number of a register operand that does not exist.
const NONE: u8 = 0xff;
/// The number of rsp.
const RSP: u8 = 4;

/// Legacy prefixes and REX that must not stand before VEX, XOP and EVEX (SDM vol. 2A 2.3.2 to 2.3.4).
fn check_prefixes(d: &Decoder<'_>, at: u8) -> Result<(), Error> {
    let forbidden = Prefixes::LOCK | Prefixes::REP | Prefixes::REPNE | Prefixes::OPERAND_SIZE;
    if u16::from(d.insn.prefixes) & forbidden != 0 || d.insn.ext != 0 {
        return Err(d.error(ErrorKind::Prefix, at));
    }
    Ok(())
}

/// Decodes VEX (C5 and C4).
pub(super) fn vex(d: &mut Decoder<'_>, at: u8) -> Result<(), Error> {
    check_prefixes(d, at)?;
    let p0 = d.byte(at + 1)?;
    if d.chunk.get(usize::from(at)) == Some(&0xc5) {
        if p0 & 0x80 == 0 && d.insn.mode.bits == Bits::B64 {
            d.insn.ext = ext::R;
        }
        d.insn.space = space::VEX;
        return three(d, at + 2, p0 & 0x7f);
    }
    d.insn.space = match p0 & 0x1f {
        map @ 1..=3 => space::VEX + map - 1,
        5 => space::VEX + 3,
        7 => space::VEX + 4,
        _ => return Err(d.error(ErrorKind::Opcode, at + 1)),
    };
    inverted_rxb(d, p0);
    let p1 = d.byte(at + 2)?;
    three(d, at + 3, p1)
}

/// Decodes XOP (8F).
pub(super) fn xop(d: &mut Decoder<'_>, at: u8) -> Result<(), Error> {
    check_prefixes(d, at)?;
    let p0 = d.byte(at + 1)?;
    d.insn.space = match p0 & 0x1f {
        map @ 8..=10 => space::XOP + map - 8,
        _ => return Err(d.error(ErrorKind::Opcode, at + 1)),
    };
    inverted_rxb(d, p0);
    let p1 = d.byte(at + 2)?;
    three(d, at + 3, p1)
}

fn inverted_rxb(d: &mut Decoder<'_>, p0: u8) {
    const { assert!(ext::R == 0x80 >> 5 && ext::X == 0x40 >> 5 && ext::B == 0x20 >> 5) };
    if d.insn.mode.bits == Bits::B64 {
        d.insn.ext |= !p0 >> 5;
    }
}

/// Decodes the byte with W, vvvv, L and pp, then the opcode.
fn three(d: &mut Decoder<'_>, at: u8, p1: u8) -> Result<(), Error> {
    let opcode = d.byte(at)?;
    let insn = &mut d.insn;
    insn.opcode = opcode;
    insn.opcode_at = at;
    if p1 & 0x80 != 0 {
        insn.ext |= ext::W;
    }
    insn.vvvv = !(p1 >> 3) & 15;
    insn.p2 = (p1 & 4) << 3;
    insn.pp = p1 & 3;
    let mut end = at + 1;
    // Only vzeroupper and vzeroall have none.
    if insn.space != space::VEX || opcode != 0x77 {
        insn.shape |= shape::MODRM;
        end = d.after_modrm(end)?;
    }
    complete(d, end)
}

/// Decodes EVEX (62).
pub(super) fn evex(d: &mut Decoder<'_>, at: u8) -> Result<(), Error> {
    check_prefixes(d, at)?;
    let (p0, p1, p2) = (d.byte(at + 1)?, d.byte(at + 2)?, d.byte(at + 3)?);
    let opcode = d.byte(at + 4)?;
    let modrm = d.byte(at + 5)?;
    let long = d.insn.mode.bits == Bits::B64;
    if p1 & 4 == 0 && (modrm >= 0xc0 || !long) {
        return Err(d.error(ErrorKind::Mvex, at + 2));
    }
    // Zen 4 ignores V' outside 64-bit mode.
    if !long && (p0 & 8 != 0 || p2 & 8 == 0 && !d.insn.mode.ignores_reserved()) {
        return Err(d.error(ErrorKind::Reserved, at + 1));
    }
    d.insn.space = match p0 & 7 {
        map @ 1..=7 => space::EVEX + map - 1,
        _ => return Err(d.error(ErrorKind::Opcode, at + 1)),
    };
    inverted_rxb(d, p0);
    let set = |on: bool, to: u8| if on { to } else { 0 };
    let insn = &mut d.insn;
    const { assert!(ext::W == 0x80 >> 4 && ext::B4 == 8 << 2 && ext::X4 == 4 << 4 && ext::R4 == 0x10 << 3) };
    insn.ext |= (p1 & 0x80) >> 4 | (p0 & 8) << 2 | (!p1 & 4) << 4 | set(long, (!p0 & 0x10) << 3);
    insn.vvvv = !(p1 >> 3) & 15 | set(long && p2 & 8 == 0, 16);
    insn.p2 = p2;
    insn.pp = p1 & 3;
    insn.opcode = opcode;
    insn.opcode_at = at + 4;
    insn.shape |= shape::MODRM;
    let end = d.after_modrm(at + 5)?;
    complete(d, end)
}

fn complete(d: &mut Decoder<'_>, end: u8) -> Result<(), Error> {
    let rule = d.check()?;
    if rule.needs_sib() && !d.insn.is_register_form() && d.insn.address_size() == 2 {
        return Err(d.error(ErrorKind::Operand, d.insn.opcode_at + 1));
    }
    d.insn.tail = match rule.immediate() {
        immediate::OPERAND_SIZE if d.insn.space == space::EVEX_MAP4 && d.insn.plain_operand_size() == 2 => 2,
        immediate::OPERAND_SIZE => 4,
        immediate::TWO_BYTES => 2,
        bytes => bytes,
    };
    d.insn.flow = rule.flow();
    d.finish(end)?;
    if let Some(kind) = d.insn.register_error(rule.check()) {
        return Err(d.error(kind, d.insn.opcode_at + 1));
    }
    Ok(())
}

impl super::Insn {
    /// What is wrong with the choice of registers, by one of [`check`].
    fn register_error(&self, demand: u8) -> Option<ErrorKind> {
        let (reg, vvvv) = (self.reg(), self.vvvv());
        let index = self.sib().unwrap_or(0) >> 3 & 7 | self.extension(ext::X, 8);
        let rm = match demand {
            _ if !self.is_register_form() => NONE,
            // Only vectors have this check.
            check::SOURCES => self.rm_vector(),
            _ => self.rm_general(),
        };
        // Zen 4 ignores the fourth bit of a VEX mask register.
        let ignored = self.mode.ignores_reserved() && !self.is_evex();
        let out_of_range = match demand {
            check::TILES => reg > 7 || vvvv > 7 || rm > 7 && rm != NONE,
            check::MASK => reg > 7 && !ignored,
            check::MASKS => (reg > 7 || vvvv > 7) && !ignored,
            check::TILE_ROWS => reg > 7 && !self.rm_is_tile() || rm > 7 && rm != NONE,
            check::LOW => reg > 7,
            check::POP2 | check::PUSH2 => rm == RSP || vvvv == RSP,
            _ => false,
        };
        if out_of_range {
            return Some(ErrorKind::Operand);
        }
        let same = match demand {
            check::VEX_GATHER => reg == index || reg == vvvv || vvvv == index,
            check::EVEX_GATHER => reg == index | vvvv & 16,
            check::TILES => reg == vvvv || reg == rm || rm == vvvv,
            check::SOURCES => reg == vvvv || reg == rm,
            check::POP2 => rm == vvvv,
            _ => false,
        };
        same.then_some(ErrorKind::SameRegister)
    }

    /// Whether the destination is a vector register and modrm.rm names the tile (`tilemovrow`, `tcvtrow`).
    fn rm_is_tile(&self) -> bool {
        self.p2 & 0x60 != 0
    }
}
