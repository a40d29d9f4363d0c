//! Operands of encodings.txt, and their codes in the tables, which insn/src/arm64/form.rs reads.

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    None = 0,
    Read = 1,
    Write = 2,
    ReadWrite = 3,
}

impl Use {
    /// The use that `text` begins with, and what follows.
    pub(crate) fn parse(text: &str) -> Option<(Use, &str)> {
        let access = match text.chars().next()? {
            '!' => Use::None,
            '<' => Use::Read,
            '>' => Use::Write,
            '&' => Use::ReadWrite,
            _ => return None,
        };
        Some((access, &text[1..]))
    }
}

/// Registers named by a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operand {
    pub(crate) code: u32,
}

const BANKS: [char; 4] = ['X', 'S', 'V', 'P'];

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// The digits that `text` begins with, behind `mark` if it begins with that; else `default`.
fn part(text: &mut &str, mark: char, default: u32) -> Result<u32, String> {
    let Some(rest) = text.strip_prefix(mark) else { return Ok(default) };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    *text = &rest[end..];
    number(&rest[..end])
}

fn fits(value: u32, bits: u32) -> Result<u32, String> {
    if value < 1 << bits { Ok(value) } else { Err(format!("{value} does not fit {bits} bits")) }
}

impl Operand {
    pub(crate) fn parse(access: Use, text: &str) -> Result<Operand, String> {
        let bank = text.chars().next().unwrap_or(' ');
        let bank = BANKS.iter().position(|b| *b == bank).ok_or_else(|| format!("no bank: {text}"))? as u32;
        let mut rest = &text[1..];
        let letter = rest.chars().next().unwrap_or(' ');
        let position = match letter {
            'd' => 0,
            'n' => 5,
            'a' => 10,
            'm' => 16,
            _ => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let position = number(&rest[..end])?;
                rest = &rest[end..];
                position
            }
        };
        if letter.is_ascii_lowercase() {
            rest = &rest[1..];
        }
        let width = part(&mut rest, '.', 5)?;
        let shift = part(&mut rest, '^', 0)?;
        let add = part(&mut rest, '+', 0)?;
        let count = part(&mut rest, '*', 1)?;
        let stride = part(&mut rest, '/', 1)?;
        if !rest.is_empty() {
            return Err(format!("{rest:?} in operand {text}"));
        }
        let code = access as u32
            | bank << 2
            | fits(position, 5)? << 4
            | fits(width, 3)? << 9
            | fits(shift, 2)? << 12
            | fits(add, 5)? << 14
            | fits(count, 4)? << 19
            | fits(stride, 4)? << 23;
        Ok(Operand { code })
    }
}

/// A memory operand: how its address is made, and how many bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    pub(crate) code: u32,
}

/// Address modes, numbered as in insn/src/arm64/memory.rs.
const MODES: &[&str] = &[
    "b", "u12", "s9", "pre9", "post9", "s7", "pre7", "post7", "x", "l19", "s10", "pre10", "postm", "up", "down", "d",
    "m", "gcspush", "gcs", "v4", "v6", "v9", "za4", "r4", "u6", "sx", "zx", "zu", "zs", "zr", "z5",
];

impl Memory {
    /// `MODE:SIZE[/UNIT]`; the unit, by which the immediate is multiplied, is the size where it is not told.
    pub(crate) fn parse(access: Use, text: &str) -> Result<Memory, String> {
        let (mode, size) = text.split_once(':').ok_or_else(|| format!("no size: {text}"))?;
        let mode = MODES.iter().position(|m| *m == mode).ok_or_else(|| format!("no such address mode: {mode}"))?;
        let (size, unit) = size.split_once('/').map_or((size, None), |(size, unit)| (size, Some(unit)));
        let size = number(size)?;
        let unit = unit.map_or(Ok(if size.is_power_of_two() { size } else { 1 }), number)?;
        if !unit.is_power_of_two() {
            return Err(format!("a unit of {unit}"));
        }
        let code = mode as u32 | (access as u32) << 8 | fits(size, 10)? << 10 | fits(unit.trailing_zeros(), 4)? << 20;
        Ok(Memory { code })
    }
    /// The bytes of a literal.
    pub(crate) fn literal(self) -> Option<u32> {
        (MODES[(self.code & 0xff) as usize] == "l19").then_some(self.code >> 10 & 0x3ff)
    }
}
