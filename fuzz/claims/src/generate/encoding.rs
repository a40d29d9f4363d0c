use arbitrary::{Arbitrary, Result, Unstructured};
use insn::x86::{Bits, Mode, Vendor};

const PREFIXES: &[u8] = &[0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65];

/// Bytes in the structure that decoders see: prefixes × map × opcode × modrm and sib × the fields of VEX, EVEX, XOP and REX2; or
/// just bytes. One more than an instruction can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(pub [u8; 16]);

/// Bytes, and the mode in which to decode them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// A mode of 32 or 64 bits.
    pub mode: Mode,
    /// The bytes.
    pub encoding: Encoding,
}

impl<'a> Arbitrary<'a> for Encoding {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Encoding> {
        let mut bytes = Vec::with_capacity(32);
        match u.int_in_range(0..=15u8)? {
            0..=2 => {}
            3..=7 => legacy(u, &mut bytes)?,
            8..=10 => vex(u, &mut bytes)?,
            11..=13 => evex(u, &mut bytes)?,
            14 => xop(u, &mut bytes)?,
            _ => rex2(u, &mut bytes)?,
        }
        let mut encoding = [0; 16];
        bytes.resize_with(bytes.len().max(16), || u.arbitrary().unwrap_or(0));
        encoding.copy_from_slice(&bytes[..16]);
        Ok(Encoding(encoding))
    }
}

impl<'a> Arbitrary<'a> for Code {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Code> {
        let choice: u8 = u.arbitrary()?;
        let bits = if choice & 1 == 0 { Bits::B64 } else { Bits::B32 };
        let mode = Mode::new(bits, if choice & 2 == 0 { Vendor::Intel } else { Vendor::Amd });
        let mode = if choice & 4 == 0 { mode } else { mode.lenient() };
        Ok(Code { mode, encoding: u.arbitrary()? })
    }
}

/// Some prefixes, then perhaps a REX, and rarely a prefix behind it, which makes it count for nothing.
fn prefixes(u: &mut Unstructured<'_>, most: u8, bytes: &mut Vec<u8>) -> Result<()> {
    for _ in 0..u.int_in_range(0..=most)? {
        bytes.push(*u.choose(PREFIXES)?);
    }
    let rex: u8 = u.arbitrary()?;
    if rex & 0xc0 == 0x40 {
        bytes.push(0x40 | rex & 15);
        if rex & 0x30 == 0x30 {
            bytes.push(*u.choose(PREFIXES)?);
        }
    }
    Ok(())
}

fn legacy(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    prefixes(u, 4, bytes)?;
    let escape: &[u8] = u.choose(&[&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a], &[0x0f, 0x0f]])?;
    bytes.extend(escape);
    bytes.push(u.arbitrary()?);
    Ok(())
}

fn vex(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    rare_prefix(u, bytes)?;
    let (payload, opcode): ([u8; 2], u8) = u.arbitrary()?;
    let fields = payload[1] | if u.arbitrary()? { 0x78 } else { 0 };
    if u.arbitrary()? {
        bytes.extend([0xc5, fields | 0x80 & high_bits(u)?]);
    } else {
        let map = if payload[0] & 0x10 == 0 { 1 + payload[0] % 3 } else { payload[0] & 31 };
        bytes.extend([0xc4, high_bits(u)? | map, fields]);
    }
    bytes.push(opcode);
    Ok(())
}

fn evex(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    rare_prefix(u, bytes)?;
    let (mut payload, opcode, usual): ([u8; 3], u8, u8) = u.arbitrary()?;
    payload[0] = high_bits(u)? | payload[0] & 0x1f;
    // Fields as most instructions have them; each bit of `usual` leaves one group to chance.
    if usual & 1 == 0 {
        payload[0] = payload[0] & 0xe7 | 0x10;
    }
    if usual & 2 == 0 {
        payload[1] |= 0x7c;
    }
    if usual & 4 == 0 {
        payload[1] |= 4;
        payload[2] |= 8;
    }
    if usual & 8 == 0 {
        payload[2] &= 0x68;
    }
    bytes.push(0x62);
    bytes.extend(payload);
    bytes.push(opcode);
    Ok(())
}

fn xop(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    rare_prefix(u, bytes)?;
    let (mut payload, opcode): ([u8; 2], u8) = u.arbitrary()?;
    if payload[0] & 0x10 == 0 {
        payload[0] = 8 + payload[0] % 3;
        payload[1] &= 0xfc;
    }
    bytes.extend([0x8f, high_bits(u)? | payload[0] & 31, payload[1], opcode]);
    Ok(())
}

fn rex2(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    prefixes(u, 1, bytes)?;
    bytes.push(0xd5);
    bytes.extend(u.arbitrary::<[u8; 2]>()?);
    Ok(())
}

/// Bits R, X and B, inverted: mostly all set, as outside 64-bit mode they must be.
fn high_bits(u: &mut Unstructured<'_>) -> Result<u8> {
    let byte: u8 = u.arbitrary()?;
    Ok(if byte & 1 == 0 { 0xe0 } else { byte & 0xe0 })
}

fn rare_prefix(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    if u.ratio(1, 8u8)? { prefixes(u, 2, bytes) } else { Ok(()) }
}
