//! The general path: prefixes, all modes, all encodings.

use super::chunk::{MAX_LEN, bytes_of, padded};
use super::codes::entry::{GROUP3, MOFFS, NEAR};
use super::codes::rule::immediate;
use super::codes::{flow, space};
use super::decoder::Decoder;
use super::insn::{LONG, NO_SEGMENT, Packed, ext, shape, shape_of};
use super::{Bits, Error, ErrorKind, Insn, Mode, Prefixes, Vendor, entry, prefixed, vector};

/// Decodes an instruction; the result is in the form of [`Packed::words`].
#[inline(never)]
pub(super) fn decode_packed(bytes: &[u8], mode: Mode) -> (u64, u64) {
    let available = bytes.len().min(MAX_LEN);
    let chunk = match bytes.first_chunk::<MAX_LEN>() {
        Some(chunk) => {
            if let Some(packed) = prefixed::decode(chunk, mode) {
                return packed.to_words();
            }
            *chunk
        }
        None => padded(bytes),
    };
    Packed::words(&decode(&chunk, available, mode))
}

/// The length of an instruction that the hot path does not answer; 0 if there is no instruction.
#[inline(never)]
pub(super) fn length(chunk: &[u8; MAX_LEN], mode: Mode) -> u32 {
    Packed::of_words(decode_packed(chunk, mode)).map_or(0, |packed| packed.len)
}

#[inline(always)]
fn decode(chunk: &[u8; MAX_LEN], available: usize, mode: Mode) -> Result<Insn, Error> {
    let insn = Insn {
        bytes: bytes_of(chunk),
        len: 0,
        mode,
        space: 0,
        opcode_at: 0,
        opcode: 0,
        flow: 0,
        tail: 0,
        shape: 0,
        prefixes: 0,
        segment: NO_SEGMENT,
        ext: 0,
        vvvv: 0,
        p2: 0,
        pp: 0,
        behind: 0,
        unusual: 0,
    };
    let mut decoder = Decoder { chunk, available, insn };
    decoder.prefixes()?;
    Ok(decoder.insn)
}

impl Insn {
    /// The instruction of these bytes once more, with all fields but those of [`Packed::completed`].
    pub(super) fn again(bytes: u128, mode: Mode) -> Option<Insn> {
        let bytes = bytes.to_le_bytes();
        let packed = Packed::of_words(decode_packed(bytes.first_chunk::<MAX_LEN>()?, mode)).ok()?;
        Some(packed.unpack(bytes, mode))
    }
}

impl Decoder<'_> {
    fn prefixes(&mut self) -> Result<(), Error> {
        let mut at = 0;
        loop {
            let byte = self.byte(at)?;
            let insn = &mut self.insn;
            match byte {
                0x66 => insn.prefixes |= Prefixes::OPERAND_SIZE as u8,
                0x67 => insn.prefixes |= Prefixes::ADDRESS_SIZE as u8,
                0xf0 => insn.prefixes |= Prefixes::LOCK as u8,
                0xf2 => {
                    insn.prefixes |= Prefixes::REPNE as u8;
                    insn.pp = 3;
                }
                0xf3 => {
                    insn.prefixes |= Prefixes::REP as u8;
                    insn.pp = 2;
                }
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 => {
                    insn.prefixes |= Prefixes::SEGMENT as u8;
                    if byte >= 0x64 {
                        insn.segment = byte & 7;
                    } else if insn.mode.bits != Bits::B64 {
                        insn.segment = byte >> 3 & 3;
                    }
                }
                0x40..=0x4f if insn.mode.bits == Bits::B64 => {
                    insn.ext = byte & 15 | ext::REX;
                    at += 1;
                    continue;
                }
                _ => return self.opcode(at, byte),
            }
            // REX only counts directly before the opcode.
            insn.ext = 0;
            at += 1;
        }
    }

    fn opcode(&mut self, at: u8, opcode: u8) -> Result<(), Error> {
        let next = |d: &Self| d.byte(at + 1);
        match opcode {
            0x0f => match next(self)? {
                0x38 => self.legacy(space::M0F38, at + 2),
                0x3a => self.legacy(space::M0F3A, at + 2),
                0x0f => self.legacy(space::AMD_3DNOW, at + 1),
                _ => self.legacy(space::TWO_BYTE, at + 1),
            },
            0xc4 | 0xc5 if self.is_64() || next(self)? >= 0xc0 => vector::vex(self, at),
            0x62 if self.is_64() || next(self)? >= 0xc0 => vector::evex(self, at),
            0x8f if next(self)? & 0x1f >= 8 => vector::xop(self, at),
            0xd5 if self.is_64() => self.rex2(at),
            _ => self.legacy(space::ONE_BYTE, at),
        }
    }

    /// D5, then M0 R4 X4 B4 W R X B (APX 3.1.1).
    fn rex2(&mut self, at: u8) -> Result<(), Error> {
        if self.insn.ext != 0 {
            return Err(self.error(ErrorKind::Prefix, at));
        }
        let payload = self.byte(at + 1)?;
        let opcode = self.byte(at + 2)?;
        const { assert!(ext::B4 == 0x10 << 1 && ext::X4 == 0x20 << 1 && ext::R4 == 0x40 << 1) };
        self.insn.ext = payload & 15 | ext::REX | (payload & 0x70) << 1;
        self.insn.shape |= shape::REX2;
        let row = opcode >> 4;
        if payload & 0x80 != 0 {
            if matches!(row, 3 | 8) || opcode == 0x0f {
                return Err(self.error(ErrorKind::Opcode, at + 2));
            }
            let modrm_reg = self.byte(at + 3).map_or(0, |modrm| if modrm < 0xc0 { modrm >> 3 & 7 } else { 0 });
            // XSAVE and similar instructions without mandatory prefix have no REX2 form.
            let selecting = Prefixes::OPERAND_SIZE | Prefixes::REP | Prefixes::REPNE;
            let selected = self.insn.prefixes().has(selecting);
            if !selected && matches!((opcode, modrm_reg), (0xae, 4..=6) | (0xc7, 3..=5)) {
                return Err(self.error(ErrorKind::Opcode, at + 2));
            }
            return self.legacy(space::TWO_BYTE, at + 2);
        }
        if opcode == 0xa1 {
            return self.jmpabs(at + 2);
        }
        let prefix = matches!(
            opcode,
            0x0f | 0x26 | 0x2e | 0x36 | 0x3e | 0x62 | 0x64..=0x67 | 0xc4 | 0xc5 | 0xd5 | 0xf0 | 0xf2 | 0xf3
        );
        if matches!(row, 4 | 7 | 10 | 14) || prefix {
            return Err(self.error(ErrorKind::Opcode, at + 2));
        }
        self.legacy(space::ONE_BYTE, at + 2)
    }

    fn jmpabs(&mut self, at: u8) -> Result<(), Error> {
        let prefixes =
            Prefixes::LOCK | Prefixes::OPERAND_SIZE | Prefixes::ADDRESS_SIZE | Prefixes::REP | Prefixes::REPNE;
        if u16::from(self.insn.prefixes) & prefixes != 0 {
            return Err(self.error(ErrorKind::Prefix, 0));
        }
        // Extension bits that extend no register are ignored.
        if self.insn.ext & ext::W != 0 {
            return Err(self.error(ErrorKind::Reserved, at - 1));
        }
        self.insn.space = space::REX2;
        self.insn.opcode = 0xa1;
        self.insn.opcode_at = at;
        self.insn.flow = LONG | flow::JUMP;
        self.insn.tail = 8;
        self.finish(at + 1)
    }

    /// The operand size as a number: 0, 1, 2 for 2, 4, 8 bytes.
    fn operand_size(&self) -> u32 {
        let small = u32::from(self.insn.prefixes) & u32::from(Prefixes::OPERAND_SIZE) != 0;
        match self.insn.mode.bits {
            Bits::B64 if self.insn.ext & ext::W != 0 => 2,
            Bits::B16 => u32::from(small),
            _ => u32::from(!small),
        }
    }

    fn legacy(&mut self, space: u8, at: u8) -> Result<(), Error> {
        let opcode = self.byte(at)?;
        let entry = match space {
            space::ONE_BYTE => entry::one_byte(opcode),
            space::TWO_BYTE => entry::two_byte(opcode),
            // All opcodes of these maps have a modrm byte. 0F 3A has an immediate byte, 3DNow! its opcode instead.
            space::M0F38 => entry::with_modrm(0),
            _ => entry::with_modrm(1),
        };
        let insn = &mut self.insn;
        insn.space = space;
        insn.opcode = opcode;
        insn.opcode_at = at;
        insn.shape |= shape_of(entry);
        if insn.pp == 0 && insn.prefixes & Prefixes::OPERAND_SIZE as u8 != 0 {
            insn.pp = 1;
        }
        let mut size = self.operand_size();
        let near_on_intel = entry & NEAR != 0 && self.is_64() && self.insn.mode.vendor == Vendor::Intel;
        if near_on_intel {
            size = size.max(1);
        }
        let mut tail = entry::immediate(entry, size) as u8;
        if entry & MOFFS != 0 {
            tail = self.insn.address_size();
        }
        if space == space::TWO_BYTE && matches!(opcode, 0xb9 | 0xff) && self.insn.mode.vendor == Vendor::Amd {
            self.insn.shape &= !shape::MODRM;
        }
        let mut end = at + 1;
        let mut modrm = 0;
        if self.insn.shape & shape::MODRM != 0 {
            modrm = self.byte(end)?;
            end = self.after_modrm(end)?;
            if entry & GROUP3 != 0 && modrm & 0x30 != 0 {
                tail = 0;
            }
        }
        if space == space::AMD_3DNOW {
            self.insn.opcode = self.byte(end)?;
        }
        let rule = self.check()?;
        // extrq and insertq share their opcode with vmread, which has no immediate.
        if rule.immediate() == immediate::TWO_BYTES && space == space::TWO_BYTE {
            tail = 2;
        }
        if matches!(opcode, 0x20..=0x23) && space == space::TWO_BYTE {
            self.check_control_register(modrm, at)?;
        }
        self.insn.flow = rule.flow();
        self.insn.tail = tail;
        self.finish(end)
    }

    /// Of cr8 to cr15 only cr8 exists, of dr8 to dr15 none (SDM vol. 2B, MOV to and from control and debug registers).
    fn check_control_register(&self, modrm: u8, at: u8) -> Result<(), Error> {
        let high = self.insn.ext & ext::R != 0 && (modrm & 0x38 != 0 || self.insn.opcode & 1 != 0);
        let twice = self.insn.ext & ext::R != 0 && self.insn.prefixes().has(Prefixes::LOCK);
        if self.insn.ext & ext::R4 != 0 || high || twice {
            return Err(self.error(ErrorKind::Operand, at + 1));
        }
        Ok(())
    }
}
