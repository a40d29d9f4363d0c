//! The visible parts of an encoding, without knowledge of any instruction. The rows of the file of deviations are written in them.

use std::fmt;

use insn::x86::Bits;

/// The parts of an encoding, whether it is an instruction or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// legacy, rex2, vex, xop or evex.
    pub encoding: &'static str,
    /// As insn numbers maps: 0 one byte, 1 0F, 2 0F 38, 3 0F 3A, 15 3DNow!; else the number in the prefix.
    pub map: u8,
    /// np, 66, f3 or f2: of legacy prefixes the last F2 or F3, else 66.
    pub prefix: &'static str,
    /// The opcode byte.
    pub opcode: u8,
    /// W of REX, REX2, VEX, XOP or EVEX.
    pub w: bool,
    /// The byte behind the opcode, modrm where there is one.
    pub modrm: u8,
    /// vvvv as it stands, inverted; 15 where there is none.
    pub vvvv: u8,
    /// L, or L'L.
    pub length: u8,
    /// Bits of [`seen`].
    pub seen: u8,
}

/// Bits of [`Shape::seen`].
pub mod seen {
    /// The prefix F0.
    pub const LOCK: u8 = 1;
    /// The prefix 66.
    pub const OPERAND_SIZE: u8 = 2;
    /// The prefix 67.
    pub const ADDRESS_SIZE: u8 = 4;
    /// A prefix F2 or F3.
    pub const REPEAT: u8 = 8;
    /// REX in its place.
    pub const REX: u8 = 16;
    /// A REX that another prefix follows.
    pub const LOST_REX: u8 = 32;
    /// Bits of EVEX that are fixed without APX are not as they are fixed.
    pub const APX: u8 = 64;
}

const NAMES: [&str; 4] = ["np", "66", "f3", "f2"];

impl Shape {
    /// The shape of `bytes`; nothing where they end before the byte behind the opcode.
    pub fn of(bytes: &[u8], bits: Bits) -> Option<Shape> {
        let wide = bits == Bits::B64;
        let mut shape = Shape {
            encoding: "legacy",
            map: 0,
            prefix: "np",
            opcode: 0,
            w: false,
            modrm: 0,
            vvvv: 15,
            length: 0,
            seen: 0,
        };
        let mut at = 0;
        let mut rex = 0;
        let mut repeat = None;
        loop {
            let byte = *bytes.get(at)?;
            let was_rex = std::mem::take(&mut rex);
            match byte {
                0xf0 => shape.seen |= seen::LOCK,
                0x66 => shape.seen |= seen::OPERAND_SIZE,
                0x67 => shape.seen |= seen::ADDRESS_SIZE,
                0xf2 | 0xf3 => {
                    shape.seen |= seen::REPEAT;
                    repeat = Some(if byte == 0xf3 { "f3" } else { "f2" });
                }
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 => {}
                0x40..=0x4f if wide => rex = byte,
                _ => {
                    rex = was_rex;
                    break;
                }
            }
            if was_rex != 0 {
                shape.seen |= seen::LOST_REX;
            }
            at += 1;
        }
        if rex != 0 {
            shape.seen |= seen::REX;
            shape.w = rex & 8 != 0;
        }
        let small = shape.seen & seen::OPERAND_SIZE != 0;
        shape.prefix = repeat.unwrap_or(if small { "66" } else { "np" });
        let first = *bytes.get(at)?;
        let next = *bytes.get(at + 1)?;
        let is_vector = wide || next >= 0xc0;
        let opcode_at = match first {
            0xc5 if is_vector => {
                shape.fields("vex", 1, next & 0x7f);
                at + 2
            }
            0xc4 if is_vector => {
                shape.fields("vex", next & 31, *bytes.get(at + 2)?);
                at + 3
            }
            0x8f if next & 31 >= 8 => {
                shape.fields("xop", next & 31, *bytes.get(at + 2)?);
                at + 3
            }
            0x62 if is_vector => {
                // Bit 2 is no part of the length.
                shape.fields("evex", next & 7, *bytes.get(at + 2)?);
                shape.length = bytes.get(at + 3)? >> 5 & 3;
                if next & 8 != 0 || bytes.get(at + 2)? & 4 == 0 {
                    shape.seen |= seen::APX;
                }
                at + 4
            }
            0xd5 if wide => {
                shape.encoding = "rex2";
                shape.map = next >> 7;
                shape.w = next & 8 != 0;
                at + 2
            }
            0x0f => match next {
                0x38 => {
                    shape.map = 2;
                    at + 2
                }
                0x3a => {
                    shape.map = 3;
                    at + 2
                }
                0x0f => {
                    shape.map = 15;
                    at + 1
                }
                _ => {
                    shape.map = 1;
                    at + 1
                }
            },
            _ => at,
        };
        shape.opcode = *bytes.get(opcode_at)?;
        shape.modrm = *bytes.get(opcode_at + 1)?;
        Some(shape)
    }

    fn fields(&mut self, encoding: &'static str, map: u8, last: u8) {
        self.encoding = encoding;
        self.map = map;
        self.prefix = NAMES[usize::from(last & 3)];
        self.length = last >> 2 & 1;
        self.vvvv = last >> 3 & 15;
        self.w = last & 0x80 != 0;
    }

    /// Whether the byte behind the opcode, as modrm, names a register.
    pub fn is_register(&self) -> bool {
        self.modrm >= 0xc0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { encoding, map, prefix, opcode, modrm, length, .. } = self;
        write!(f, "{encoding} {map} {prefix} {opcode:02x} w{} l{length} /{}", u8::from(self.w), modrm >> 3 & 7)?;
        if self.is_register() { write!(f, " r{}", modrm & 7) } else { write!(f, " m") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], bits: Bits) -> String {
        Shape::of(bytes, bits).map_or_else(|| "too short".into(), |shape| shape.to_string())
    }

    #[test]
    fn parts_are_seen_without_knowing_the_instruction() {
        assert_eq!(shown(&[0x66, 0x48, 0x0f, 0x38, 0xf1, 0xc1], Bits::B64), "legacy 2 66 f1 w1 l0 /0 r1");
        assert_eq!(shown(&[0x48, 0x66, 0x89, 0x00], Bits::B64), "legacy 0 66 89 w0 l0 /0 m");
        assert_eq!(shown(&[0xc5, 0xf8, 0x77, 0x00], Bits::B64), "vex 1 np 77 w0 l0 /0 m");
        assert_eq!(shown(&[0xc5], Bits::B32), "too short");
        assert_eq!(shown(&[0xc5, 0x38, 0x00], Bits::B32), "legacy 0 np c5 w0 l0 /7 m");
        assert_eq!(shown(&[0x62, 0xf1, 0xfd, 0x48, 0x58, 0xc1], Bits::B64), "evex 1 66 58 w1 l2 /0 r1");
        assert_eq!(shown(&[0xd5, 0x88, 0x05, 0xc1], Bits::B64), "rex2 1 np 05 w1 l0 /0 r1");
        assert_eq!(shown(&[0x8f, 0xe9, 0x78, 0x80, 0xc1], Bits::B64), "xop 9 np 80 w0 l0 /0 r1");
    }
}
