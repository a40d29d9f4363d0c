//! The table of operands, from operands.txt; its grammar stands at the head of that file.

#[path = "../../../src/arm64/operand_codes.rs"]
mod operand_codes;

use super::parse::pattern;
use crate::write::{array, head, row};
use operand_codes::{BYTES, FLOATS, SHIFTS, kind, special, view};

/// A row of bits as a number, or a function of its own.
#[derive(Clone, Copy, Default, PartialEq)]
struct Value {
    /// Start and length in the list of bits.
    bits: (u16, u8),
    signed: bool,
    scale: i16,
    add: i16,
    special: u8,
}

/// Bits that choose: start and length in the list of bits, and the place of the first item.
#[derive(Clone, Copy, PartialEq)]
struct Choice {
    bits: (u16, u8),
    start: u16,
}

#[derive(Default)]
struct Tables {
    bits: Vec<u8>,
    values: Vec<Value>,
    choices: Vec<Choice>,
    items: Vec<u8>,
    codes: Vec<[u8; BYTES]>,
    /// The codes of all lists, one list after the other.
    lists: Vec<u16>,
    /// Mask, value, start and length in `lists`.
    lines: Vec<(u32, u32, u16, u8)>,
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn intern<T: PartialEq>(all: &mut Vec<T>, item: T) -> usize {
    all.iter().position(|other| *other == item).unwrap_or_else(|| {
        all.push(item);
        all.len() - 1
    })
}

/// The place of a run in a list, which is appended where it is new.
fn run<T: PartialEq + Copy>(all: &mut Vec<T>, items: &[T]) -> Result<u16, String> {
    let found = all.windows(items.len().max(1)).position(|window| window == items);
    let start = found.unwrap_or_else(|| {
        all.extend(items);
        all.len() - items.len()
    });
    u16::try_from(start).map_err(|_| "a table is too long".into())
}

/// The part of `text` before the first of `marks`, which goes on with that mark.
fn until<'a>(text: &mut &'a str, marks: &[char]) -> &'a str {
    let (part, rest) = text.split_at(text.find(marks).unwrap_or(text.len()));
    *text = rest;
    part
}

impl Tables {
    /// The place of a list of bits: numbers and ranges between points, the highest of the value first.
    fn bits(&mut self, text: &str) -> Result<(u16, u8), String> {
        let mut bits: Vec<u8> = Vec::new();
        for part in text.split('.') {
            let (high, low) = part.split_once('-').unwrap_or((part, part));
            let (high, low): (u8, u8) = (number(high)?, number(low)?);
            if high > 31 || low > high {
                return Err(format!("{part:?} are no bits"));
            }
            bits.extend((low..=high).rev());
        }
        Ok((run(&mut self.bits, &bits)?, bits.len() as u8))
    }

    /// The number of a value; 0 is none.
    fn value(&mut self, text: &str) -> Result<u8, String> {
        let mut value = Value { scale: 1, ..Value::default() };
        if let Some(name) = text.strip_prefix('=') {
            let found = special::NAMES.iter().find(|(other, _)| *other == name);
            value.special = found.ok_or_else(|| format!("no such function: {name}"))?.1;
        } else if let Some(constant) = text.strip_prefix('c') {
            value.add = number(constant)?;
        } else {
            let mut rest = text;
            if let Some(unsigned) = rest.strip_prefix('s') {
                (value.signed, rest) = (true, unsigned);
            }
            value.bits = self.bits(until(&mut rest, &['*', '+']))?;
            if let Some(more) = rest.strip_prefix('*') {
                rest = more;
                value.scale = number(until(&mut rest, &['+']))?;
            }
            if let Some(addend) = rest.strip_prefix('+') {
                value.add = number(addend)?;
            }
        }
        if self.values.is_empty() {
            self.values.push(Value::default());
        }
        u8::try_from(intern(&mut self.values, value)).map_err(|_| "too many values".into())
    }

    /// The number of a choice between what `item` makes of texts.
    fn choice(&mut self, text: &str, item: impl Fn(&str) -> Result<u8, String>) -> Result<u8, String> {
        let choice = match text.strip_prefix('(') {
            Some(text) => {
                let inner = text.strip_suffix(')').ok_or("a choice that does not end")?;
                let (bits, items) = inner.split_once('=').ok_or("a choice without bits")?;
                let bits = self.bits(bits)?;
                let items: Vec<u8> = items
                    .split('|')
                    .map(|text| if text.is_empty() { Ok(0) } else { item(text) })
                    .collect::<Result<_, _>>()?;
                if items.len() != 1 << bits.1 {
                    return Err(format!("{} items for {} bits", items.len(), bits.1));
                }
                Choice { bits, start: run(&mut self.items, &items)? }
            }
            None => Choice { bits: (0, 0), start: run(&mut self.items, &[item(text)?])? },
        };
        u8::try_from(intern(&mut self.choices, choice)).map_err(|_| "too many choices".into())
    }

    fn operand(&mut self, text: &str) -> Result<[u8; BYTES], String> {
        let mark = text.get(..1).ok_or("an operand is missing")?;
        let found = kind::NAMES.iter().find(|(name, _)| *name == mark);
        let (_, what) = *found.ok_or_else(|| format!("no such operand: {text}"))?;
        let mut rest = &text[1..];
        let (mut count, mut stride, mut choice, mut values) = (0, 0, 0, [0; 3]);
        match what {
            kind::MEMORY => {}
            kind::FLOAT if !rest.starts_with('=') => choice = self.choice(rest, float)?,
            kind::IMMEDIATE | kind::LABEL | kind::CONDITION | kind::FLOAT | kind::SYSTEM | kind::STATE => {
                values[0] = self.value(rest)?;
            }
            kind::SHIFT => {
                let (name, amount) = rest.split_once('#').ok_or("a shift without an amount")?;
                (choice, values[0]) = (self.choice(name, shift)?, self.value(amount)?);
            }
            _ => {
                let place = until(&mut rest, &[':', '[']);
                if !place.is_empty() {
                    values[0] = self.value(place)?;
                }
                if let Some(more) = rest.strip_prefix(':') {
                    rest = more;
                    choice = self.choice(until(&mut rest, &['*', '[']), view)?;
                }
                (count, stride) = counts(&mut rest)?;
                if let Some(more) = rest.strip_prefix('[') {
                    rest = more;
                    for (to, index) in values[1..].iter_mut().zip(until(&mut rest, &[']']).split(',')) {
                        *to = self.value(index)?;
                    }
                    rest = rest.strip_prefix(']').ok_or("an index that does not end")?;
                }
                if count == 0 {
                    (count, stride) = counts(&mut rest)?;
                }
                if !rest.is_empty() {
                    return Err(format!("{rest:?} in operand {text}"));
                }
            }
        }
        Ok([what, count, stride, choice, values[0], values[1], values[2]])
    }

    fn line(&mut self, text: &str) -> Result<(), String> {
        let (bits, operands) = text.split_once(' ').ok_or("no operands")?;
        let (mask, value) = pattern(bits)?;
        let mut codes = Vec::new();
        for operand in split(operands).filter(|operand| *operand != "-") {
            let code = self.operand(operand)?;
            codes.push(intern(&mut self.codes, code) as u16);
        }
        let start = if codes.is_empty() { 0 } else { run(&mut self.lists, &codes)? };
        self.lines.push((mask, value, start, codes.len() as u8));
        Ok(())
    }
}

/// Operands between commas, but for commas in brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// Behind `*` how many there are, and behind `/` the stride or group.
fn counts(text: &mut &str) -> Result<(u8, u8), String> {
    let (mut count, mut stride) = (0, 1);
    if let Some(more) = text.strip_prefix('*') {
        *text = more;
        count = number(until(text, &['/', '[']))?;
    }
    if let Some(more) = text.strip_prefix('/') {
        *text = more;
        stride = number(until(text, &['[']))?;
    } else if count == 0 {
        stride = 0;
    }
    Ok((count, stride))
}

fn shift(text: &str) -> Result<u8, String> {
    let found = SHIFTS.iter().position(|name| *name == text);
    found.map(|number| number as u8).ok_or_else(|| format!("no such shift: {text}"))
}

fn float(text: &str) -> Result<u8, String> {
    let wanted: f32 = number(text)?;
    let found = FLOATS.iter().position(|constant| *constant == wanted);
    found.map(|number| number as u8).ok_or_else(|| format!("no such constant: {text}"))
}

/// One more than the logarithm of a number.
fn logarithm(number: u8) -> u8 {
    number.trailing_zeros() as u8 + 1
}

fn view(text: &str) -> Result<u8, String> {
    let size = |letter: char| "bhsdq".find(letter).map(|place| place as u8 + 1);
    let (name, mode) = match text.split_once('/') {
        Some((name, "z")) => (name, view::ZEROING),
        Some((name, "m")) => (name, view::MERGING),
        Some(_) => return Err(format!("no such view: {text}")),
        None => match text.strip_suffix(['h', 'v']).filter(|name| name.chars().all(char::is_alphabetic)) {
            Some(name) if !name.is_empty() => {
                (name, if text.ends_with('h') { view::HORIZONTAL } else { view::VERTICAL })
            }
            _ => (text, 0),
        },
    };
    let letter = name.chars().last().unwrap_or(' ');
    let lanes = name.trim_end_matches(char::is_alphabetic);
    let lanes = if lanes.is_empty() || lanes == "-" { 0 } else { logarithm(number(lanes)?) };
    let size = match name {
        "-" => 0,
        "w" => 3,
        "x" => 4,
        _ => size(letter).ok_or_else(|| format!("no such view: {text}"))?,
    };
    Ok(size << view::SIZE | lanes << view::LANES | mode << view::MODE)
}

/// The text of the table.
pub(crate) fn table(text: &str) -> Result<String, String> {
    let mut tables = Tables::default();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        tables.line(line).map_err(|e| format!("line {number}: {e}: {line}"))?;
    }
    let (mut starts, mut numbers) = (Vec::new(), Vec::new());
    for byte in 0..256u32 {
        starts.push(u16::try_from(numbers.len()).map_err(|_| "too many lines")?);
        let fits = |(mask, value, ..): &(u32, u32, u16, u8)| (byte << 24 ^ value) & mask & 0xff00_0000 == 0;
        numbers.extend((0u16..).zip(&tables.lines).filter(|(_, line)| fits(line)).map(|(number, _)| number));
    }
    let mut out = head("operands.txt");
    out.push_str("use crate::arm64::tables::{Choice, Line, Value};\n\n");
    array(&mut out, "Where the lines of a top byte begin.", "STARTS", "u16", &starts, 16, u16::to_string);
    let told = "Lines by top byte, in the order in which they are tried.";
    array(&mut out, told, "NUMBERS", "u16", &numbers, 16, u16::to_string);
    array(&mut out, "Lines.", "LINES", "Line", &tables.lines, 1, |(mask, value, start, count)| {
        format!("Line {{ mask: {mask:#x}, value: {value:#x}, start: {start}, count: {count} }}")
    });
    array(&mut out, "Lists of operands.", "LISTS", "u16", &tables.lists, 16, u16::to_string);
    let kind = format!("[u8; {BYTES}]");
    array(&mut out, "Operands.", "CODES", &kind, &tables.codes, 4, |code| row(code));
    array(&mut out, "Values.", "VALUES", "Value", &tables.values, 1, |value| {
        let Value { bits, signed, scale, add, special } = value;
        format!("Value {{ bits: {bits:?}, signed: {signed}, scale: {scale}, add: {add}, special: {special} }}")
    });
    array(&mut out, "Choices.", "CHOICES", "Choice", &tables.choices, 1, |Choice { bits, start }| {
        format!("Choice {{ bits: {bits:?}, start: {start} }}")
    });
    array(&mut out, "Items of choices.", "ITEMS", "u8", &tables.items, 24, u8::to_string);
    array(&mut out, "Numbers of bits.", "BITS", "u8", &tables.bits, 24, u8::to_string);
    Ok(out)
}
