//! The tables of effects: what words read and write. insn/src/arm64/record.rs reads them.

use std::collections::HashMap;

use super::codes::{access, bank, each_register, memory, mode, operand, record, registers};
use super::hot::{OFTEN, way};
use super::parse::Form;
use super::special::{condition, kind};
use super::tree::{self, Tree};

macro_rules! named {
    ($($name:ident = $number:expr, $text:literal;)*) => {
        &[$(($text, $number)),*]
    };
}
/// Registers that no field names, and their numbers in a register set.
const SPECIAL: &[(&str, u8)] = each_register!(named);

/// Banks of registers, by their bits.
const BANKS: &[(&str, u128)] = &[("vectors", 0xffff_ffff << bank::VECTOR), ("predicates", 0xffff << bank::PREDICATE)];

/// The words of a record.
type Record = [u32; 3];

/// The tables as they are emitted.
pub(crate) struct Effects {
    pub(crate) tree: Tree,
    pub(crate) records: Vec<Record>,
    /// Codes of operands that no slot of a record tells, and of second memory operands.
    pub(crate) operands: Vec<u32>,
    /// Registers read and written that no field names.
    pub(crate) sets: Vec<(u128, u128)>,
}

/// Builds the tables.
pub(crate) fn build(forms: &[Form]) -> Result<Effects, String> {
    let mut out = Effects { tree: Tree::default(), records: Vec::new(), operands: Vec::new(), sets: vec![(0, 0)] };
    let (mut cubes, mut numbers) = (Vec::new(), HashMap::new());
    for form in forms {
        // A hole stands before the form that it is a hole of. Nobody asks for its words.
        if form.attrs.iter().any(|attr| attr == "undef") {
            continue;
        }
        for (mask, value, flags) in conditions(form) {
            let found = out.record(form, flags).map_err(|error| format!("line {}: {error}", form.line))?;
            let number = *numbers.entry(found).or_insert_with(|| {
                out.records.push(found);
                out.records.len() - 1
            });
            cubes.push((mask, value, number as u16));
        }
    }
    out.tree = tree::build(&cubes)?;
    if out.sets.len() > record::SETS {
        return Err("more sets of registers than a record can name".into());
    }
    out.sets.resize(record::SETS, (0, 0));
    Ok(out)
}

/// Bits of the registers in a list of names.
fn named(text: &str) -> Result<u128, String> {
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

fn flags(text: &str) -> Result<u32, String> {
    text.chars().try_fold(0, |bits, c| Ok(bits | 8 >> "nzcv".find(c).ok_or_else(|| format!("no such flag: {c}"))?))
}

/// The form's words by their condition: mask, value, and the flags that the condition reads.
fn conditions(form: &Form) -> Vec<(u32, u32, u32)> {
    /// The flags of conditions 0 and 1, 2 and 3, and so on (ConditionHolds, Arm ARM J1).
    const FLAGS: [&str; 8] = ["z", "c", "n", "v", "cz", "nv", "nzv", ""];
    let Some(low) = form.attrs.iter().find_map(|attr| condition(attr)) else {
        return vec![(form.mask, form.value, 0)];
    };
    let pairs = (0..).zip(FLAGS).filter(|(pair, _)| (form.value ^ pair << (low + 1)) & form.mask & 14 << low == 0);
    pairs
        .map(|(pair, names)| (form.mask | 14 << low, form.value | pair << (low + 1), flags(names).unwrap_or(0)))
        .collect()
}

/// What a form uses, as far as it is gathered.
#[derive(Default)]
struct Used {
    /// What no field names.
    read: u128,
    written: u128,
    flags: [u32; 2],
    slots: u32,
    /// Codes of operands that fit no slot.
    others: Vec<u32>,
}

impl Used {
    /// Adds registers that a field names.
    fn add(&mut self, code: u32) {
        let slot = record::SLOTS.iter().position(|low| *low == code >> operand::POSITION & 31);
        let bank = code >> operand::BANK & 3;
        // A whole field of one register.
        let plain = code & !(31 << operand::POSITION | 15 << operand::STRIDE) == code & 15 | plain();
        let at = slot.filter(|slot| {
            let fits = bank != registers::PREDICATE && (bank != registers::GENERAL_OR_SP || *slot < 2);
            let old = self.slots >> (slot * 4) & 15;
            plain && fits && code & 3 != 0 && (old == 0 || old >> 2 == bank)
        });
        match at {
            Some(slot) => self.slots |= (code & 15) << (slot * 4),
            None => self.others.push(code),
        }
    }
    /// Adds what an attribute says.
    fn attribute(&mut self, attr: &str) -> Result<(), String> {
        let (pc, x30) = (named("pc")?, named("x30")?);
        match attr {
            "fp" => (self.read, self.written) = (self.read | named("fpcr,fpsr")?, self.written | named("fpsr")?),
            "fpcr" => self.read |= named("fpcr")?,
            "qc" => (self.read, self.written) = (self.read | named("fpsr")?, self.written | named("fpsr")?),
            "jump26" | "cond19" | "cond14" | "cond9" => (self.read, self.written) = (self.read | pc, self.written | pc),
            "call26" => (self.read, self.written) = (self.read | pc, self.written | pc | x30),
            "jump" | "return" => {
                self.written |= pc;
                self.add(general(access::READ, 5));
            }
            "call" => {
                (self.read, self.written) = (self.read | pc, self.written | pc | x30);
                self.add(general(access::READ, 5));
            }
            "leave" | "leavefor" => (self.read, self.written) = (self.read | x30, self.written | pc),
            attr if attr == OFTEN || way(attr).is_some() || condition(attr).is_some() || kind(attr).is_some() => {}
            attr => {
                if let Some((key, value)) = attr.split_once('=').filter(|(key, _)| key.starts_with('+')) {
                    let bits = named(value)?;
                    self.read |= if key.contains('r') { bits } else { 0 };
                    self.written |= if key.contains('w') { bits } else { 0 };
                } else if let Some(names) = attr.strip_prefix("r:") {
                    self.flags[0] |= flags(names)?;
                } else if let Some(names) = attr.strip_prefix("w:") {
                    self.flags[1] |= flags(names)?;
                } else if !attr.starts_with("unless:") {
                    return Err(format!("no such attribute: {attr}"));
                }
            }
        }
        Ok(())
    }
    /// Adds the registers of an address.
    fn address(&mut self, code: u32) -> Result<(), String> {
        let writes_back = [
            mode::PRE7,
            mode::POST7,
            mode::PRE9,
            mode::POST9,
            mode::PRE10,
            mode::POST_INDEX,
            mode::POST_SIZE,
            mode::PRE_SIZE,
        ];
        match code & 0xff {
            mode::LITERAL => self.read |= named("pc")?,
            mode::GCS | mode::GCS_PUSH => self.read |= named("gcspr")?,
            mode::AT_D => self.add(general(access::READ, 0)),
            mode::AT_M => self.add(general(access::READ, 16)),
            mode::VECTOR_BASE5 | mode::VECTOR_BASE_INDEX => self.add(field(access::READ, registers::VECTOR, 5)),
            base => {
                let used = if writes_back.contains(&base) { access::READ_WRITE } else { access::READ };
                self.add(field(used, registers::GENERAL_OR_SP, 5));
            }
        }
        match code & 0xff {
            mode::INDEX | mode::POST_INDEX | mode::SCALAR_INDEX | mode::VECTOR_BASE_INDEX => {
                self.add(general(access::READ, 16));
            }
            mode::VECTOR_INDEX | mode::VECTOR_UXTW | mode::VECTOR_SXTW => {
                self.add(field(access::READ, registers::VECTOR, 16));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The code of one register in a field of five bits, without access, bank and position.
fn plain() -> u32 {
    5 << operand::WIDTH | 1 << operand::COUNT
}

fn field(access: u32, bank: u32, position: u32) -> u32 {
    access | bank << operand::BANK | position << operand::POSITION | plain() | 1 << operand::STRIDE
}

fn general(access: u32, position: u32) -> u32 {
    field(access, registers::GENERAL, position)
}

impl Effects {
    /// The record of a form whose condition reads `flags`.
    fn record(&mut self, form: &Form, flags: u32) -> Result<Record, String> {
        let mut used = Used { flags: [flags, 0], ..Used::default() };
        form.operands.iter().for_each(|operand| used.add(operand.code));
        form.attrs.iter().try_for_each(|attr| used.attribute(attr))?;
        form.memory.iter().try_for_each(|memory| used.address(memory.code))?;
        for (flags, set) in used.flags.into_iter().zip([&mut used.read, &mut used.written]) {
            *set |= if flags != 0 { named("nzcv")? } else { 0 };
        }
        let (first, second) = match form.memory[..] {
            [] => (memory::NONE, None),
            [first] => (first.code, None),
            [first, second] => (first.code, Some(second.code)),
            _ => return Err("three memory operands".into()),
        };
        let set = self.sets.iter().position(|set| *set == (used.read, used.written)).unwrap_or_else(|| {
            self.sets.push((used.read, used.written));
            self.sets.len() - 1
        });
        let count = used.others.len() as u32;
        let others: Vec<u32> = used.others.into_iter().chain(second).collect();
        let found = self.operands.windows(others.len().max(1)).position(|window| window == others);
        let start = match found {
            _ if others.is_empty() => 0,
            Some(start) => start,
            None => {
                self.operands.extend(&others);
                self.operands.len() - others.len()
            }
        };
        let start = u16::try_from(start).map_err(|_| "too many operands")?;
        let [read, written] = used.flags;
        let uses =
            used.slots | (set as u32) << record::SET | read << record::FLAGS_READ | written << record::FLAGS_WRITTEN;
        let rest = u32::from(start) | count << record::COUNT | u32::from(second.is_some()) << record::TWO_MEMORIES;
        Ok([uses, rest, first])
    }
}
