//! Operands of encodings.txt, and their codes in the tables.

use super::codes::{access, memory, mode, operand, registers};

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    None = access::NONE as isize,
    Read = access::READ as isize,
    Write = access::WRITE as isize,
    ReadWrite = access::READ_WRITE as isize,
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
        let bank = registers::NAMES.iter().find(|(name, _)| text.starts_with(name));
        let (_, bank) = bank.ok_or_else(|| format!("no bank: {text}"))?;
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
            | bank << operand::BANK
            | fits(position, 5)? << operand::POSITION
            | fits(width, 3)? << operand::WIDTH
            | fits(shift, 2)? << operand::SHIFT
            | fits(add, 5)? << operand::ADD
            | fits(count, 4)? << operand::COUNT
            | fits(stride, 4)? << operand::STRIDE;
        Ok(Operand { code })
    }
}

/// A memory operand: how its address is made, and how many bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    pub(crate) code: u32,
}

impl Memory {
    /// Parses `MODE:SIZE[/UNIT]`. The unit multiplies the immediate; by default it is the size.
    pub(crate) fn parse(access: Use, text: &str) -> Result<Memory, String> {
        let (mode, size) = text.split_once(':').ok_or_else(|| format!("no size: {text}"))?;
        let found = mode::NAMES.iter().find(|(name, _)| *name == mode);
        let (_, mode) = found.ok_or_else(|| format!("no such address mode: {mode}"))?;
        let (size, unit) = size.split_once('/').map_or((size, None), |(size, unit)| (size, Some(unit)));
        let size = number(size)?;
        let unit = unit.map_or(Ok(if size.is_power_of_two() { size } else { 1 }), number)?;
        if !unit.is_power_of_two() {
            return Err(format!("a unit of {unit}"));
        }
        let code = mode
            | (access as u32) << memory::ACCESS
            | fits(size, 10)? << memory::SIZE
            | fits(unit.trailing_zeros(), 4)? << memory::UNIT;
        Ok(Memory { code })
    }
    /// The size of a literal in bytes.
    pub(crate) fn literal(self) -> Option<u32> {
        (self.code & 0xff == mode::LITERAL).then_some(self.code >> memory::SIZE & 0x3ff)
    }
}
