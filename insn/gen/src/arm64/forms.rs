//! The cold tables: what words mean, by form. insn/src/arm64/form.rs reads them.

use super::codes::{bank, each_register, memory, when};
use super::hot::{OFTEN, way};
use super::parse::Form;
use super::special::{condition, kind};
use std::collections::HashMap;

/// The number of top bits that select the forms to try.
const TOP: u32 = 11;

macro_rules! named {
    ($($name:ident = $number:expr, $text:literal;)*) => {
        &[$(($text, $number)),*]
    };
}
/// Registers that no field names, and their numbers in a register set.
const SPECIAL: &[(&str, u8)] = each_register!(named);

/// Banks of registers, by their bits.
const BANKS: &[(&str, u128)] = &[("vectors", 0xffff_ffff << bank::VECTOR), ("predicates", 0xffff << bank::PREDICATE)];

/// The tables as they are emitted.
pub(crate) struct Cold {
    /// Where the forms of words with the same top bits begin in `lists`.
    pub(crate) starts: Vec<u16>,
    /// Forms by top bits in file order.
    pub(crate) lists: Vec<u16>,
    /// Mask, value and meaning.
    pub(crate) forms: Vec<(u32, u32, u16)>,
    pub(crate) meanings: Vec<Meaning>,
    pub(crate) operands: Vec<u32>,
    pub(crate) sets: Vec<(u128, u128)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Meaning {
    pub(crate) operands: (u16, u16),
    pub(crate) memory: [u32; 2],
    /// NZCV read and written.
    pub(crate) flags: (u8, u8),
    pub(crate) set: u8,
    pub(crate) unpredictable: u16,
}

/// Bits of the registers in a list of names.
fn registers(text: &str) -> Result<u128, String> {
    let mut bits = 0;
    for name in text.split(',') {
        let bank = BANKS.iter().find(|(n, _)| *n == name).map(|(_, bits)| *bits);
        let special = SPECIAL.iter().find(|(n, _)| *n == name).map(|(_, number)| *number);
        let general = name.strip_prefix('x').and_then(|n| n.parse().ok()).filter(|n| *n < 31u8);
        let one = special.or(general).map(|number| 1u128 << number);
        bits |= bank.or(one).ok_or_else(|| format!("no such register: {name}"))?;
    }
    Ok(bits)
}

fn flags(text: &str) -> Result<u8, String> {
    text.chars().try_fold(0, |bits, c| Ok(bits | 8u8 >> "nzcv".find(c).ok_or_else(|| format!("no such flag: {c}"))?))
}

fn intern<T: PartialEq>(all: &mut Vec<T>, item: T) -> usize {
    all.iter().position(|other| *other == item).unwrap_or_else(|| {
        all.push(item);
        all.len() - 1
    })
}

fn meaning(form: &Form, cold: &mut Cold) -> Result<Meaning, String> {
    let (mut read, mut written) = (0u128, 0u128);
    let mut meaning = Meaning { operands: (0, 0), memory: [memory::NONE; 2], flags: (0, 0), set: 0, unpredictable: 0 };
    for attr in &form.attrs {
        let named = |name: &str| registers(name);
        match attr.as_str() {
            "fp" => (read, written) = (read | named("fpcr,fpsr")?, written | named("fpsr")?),
            "fpcr" => read |= named("fpcr")?,
            "qc" => (read, written) = (read | named("fpsr")?, written | named("fpsr")?),
            attr if attr == OFTEN || way(attr).is_some() || condition(attr).is_some() || kind(attr).is_some() => {}
            attr => {
                if let Some((key, value)) = attr.split_once('=').filter(|(key, _)| key.starts_with('+')) {
                    let bits = registers(value)?;
                    read |= if key.contains('r') { bits } else { 0 };
                    written |= if key.contains('w') { bits } else { 0 };
                } else if let Some(names) = attr.strip_prefix("r:") {
                    meaning.flags.0 |= flags(names)?;
                } else if let Some(names) = attr.strip_prefix("w:") {
                    meaning.flags.1 |= flags(names)?;
                } else if let Some(names) = attr.strip_prefix("unless:") {
                    for name in names.split(',') {
                        let found = when::NAMES.iter().find(|(text, _)| *text == name);
                        meaning.unpredictable |= found.ok_or_else(|| format!("no such attribute: {name}"))?.1;
                    }
                } else {
                    return Err(format!("no such attribute: {attr}"));
                }
            }
        }
    }
    meaning.set = u8::try_from(intern(&mut cold.sets, (read, written))).map_err(|_| "too many sets")?;
    for (to, operand) in meaning.memory.iter_mut().zip(&form.memory) {
        *to = operand.code;
    }
    let codes: Vec<u32> = form.operands.iter().map(|o| o.code).collect();
    let found = cold.operands.windows(codes.len().max(1)).position(|w| w == codes);
    let start = match found {
        _ if codes.is_empty() => 0,
        Some(start) => start,
        None => {
            cold.operands.extend(&codes);
            cold.operands.len() - codes.len()
        }
    };
    meaning.operands = (start as u16, codes.len() as u16);
    Ok(meaning)
}

/// Interns what all forms mean.
pub(crate) fn build(forms: &[Form]) -> Result<Cold, String> {
    let mut cold = Cold {
        starts: Vec::new(),
        lists: Vec::new(),
        forms: Vec::new(),
        meanings: Vec::new(),
        operands: Vec::new(),
        sets: vec![(0, 0)],
    };
    let mut numbers: HashMap<Meaning, u16> = HashMap::new();
    for form in forms {
        let meaning = meaning(form, &mut cold).map_err(|e| format!("line {}: {e}", form.line))?;
        let number = *numbers.entry(meaning.clone()).or_insert_with(|| {
            cold.meanings.push(meaning);
            cold.meanings.len() as u16 - 1
        });
        cold.forms.push((form.mask, form.value, number));
    }
    // Words with other top bits may have the same forms to try.
    let mut known: HashMap<Vec<u16>, u16> = HashMap::new();
    for top in 0..1 << TOP {
        let fits =
            |(mask, value, _): &&(u32, u32, u16)| (top << (32 - TOP) ^ value) & mask >> (32 - TOP) << (32 - TOP) == 0;
        let list: Vec<u16> = (0..).zip(&cold.forms).filter(|(_, form)| fits(form)).map(|(i, _)| i).collect();
        if !known.contains_key(&list) {
            let start = u16::try_from(cold.lists.len()).map_err(|_| "too many forms")?;
            cold.lists.extend(&list);
            known.insert(list.clone(), start);
        }
        cold.starts.push(known[&list]);
    }
    Ok(cold)
}
