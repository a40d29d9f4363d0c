//! The tables of common effects: what a form reads and writes, in 64-bit mode and the legacy maps, without a choice by rules.
//!
//! A form becomes a word ([`super::codes::common`]), which has the number of its sizes. A form that the word cannot tell gets the word 0, and the general tables serve.

use super::codes::common::{self, implicit as stack, select, usage};
use super::codes::key::{ALL, BITS, EXT, MEM, PP, REG, RM, V};
use super::codes::{attr, bank, form as part, implicit, memory, operand, register_bank, rule, size, source, space};
use super::parse::Form;
use super::rules;
use super::semantics::{Semantics, encode, intern, number};
use std::collections::BTreeMap;

/// The maps that the tables cover.
const SPACES: [u8; 4] = [space::ONE_BYTE, space::TWO_BYTE, space::M0F38, space::M0F3A];

/// The flags that each condition code reads (SDM vol. 1, appendix B): OF, CF, ZF, CF and ZF, SF, PF, SF and OF, these and ZF.
const CONDITIONS: [u32; 16] = {
    let [cf, pf, zf, sf, of] = [1, 1 << 2, 1 << 6, 1 << 7, 1 << 11];
    let (below, less, not_more) = (cf | zf, sf | of, sf | of | zf);
    [of, of, cf, cf, zf, zf, below, below, sf, sf, pf, pf, less, less, not_more, not_more]
};

/// The tables.
#[derive(Default)]
pub(crate) struct Common {
    /// By space and opcode: fields and a start.
    pub(crate) opcodes: Vec<u32>,
    /// Numbers of records.
    pub(crate) lists: Vec<u16>,
    pub(crate) records: Vec<u64>,
    /// Sizes of operands and of memory.
    pub(crate) sizes: Vec<u64>,
    /// Sets of registers read and written: the low and the high word of each.
    pub(crate) implied: Vec<[u64; 4]>,
    /// Sets of registers overwritten, and overwritten if the operand size is 2.
    pub(crate) wholes: Vec<[u64; 4]>,
}

/// Builds the tables of the forms, which `semantics` has as words.
pub(crate) fn build(
    forms: &[Form],
    slots: &BTreeMap<(usize, u8), Vec<usize>>,
    semantics: &mut Semantics,
) -> Result<Common, String> {
    let mut out =
        Common { records: vec![0], sizes: vec![0], implied: vec![[0; 4]], wholes: vec![[0; 4]], ..Default::default() };
    let mut choices = Vec::new();
    for space in SPACES {
        for opcode in 0..=255 {
            let slot = (usize::from(space), opcode);
            let mut ruled = Vec::new();
            let numbers = slots.get(&slot).map_or(&[][..], Vec::as_slice);
            let any = |holds: fn(&Form) -> bool| numbers.iter().any(|i| holds(&forms[*i]));
            let has_memory = any(Form::has_modrm) && !any(|form| form.has("anymod"));
            for (i, in_memory) in numbers.iter().flat_map(|i| [(*i, false), (*i, true)]) {
                let other = match (has_memory, in_memory) {
                    (false, false) => 0,
                    (false, true) => continue,
                    (true, false) => MEM,
                    (true, true) => REG,
                };
                let words = if slot == (0, 0xc8) { [0; 2] } else { record(&forms[i], in_memory, semantics, &mut out)? };
                let [first, sizes] = words;
                let sizes = u64::from(number(&mut out.sizes, sizes)?) << common::SIZES;
                let number = intern(&mut out.records, if first == 0 { 0 } else { first | sizes });
                // No instruction of these maps has the third value of V.
                let rules = rules::rules(&forms[i]).into_iter().map(|rule| (rule & !other & !(4 << V), number));
                ruled.extend(rules.filter(|(rule, _)| rule & (MEM | REG) != 0));
            }
            ruled.retain(|(rule, _)| rule & rule::REFUSED == 0 && rule >> BITS & 1 != 0);
            choices.push(Choice::of(&ruled));
        }
    }
    // The longest first, because a short list often is a part of a long one.
    let mut longest_first: Vec<&Choice> = choices.iter().collect();
    longest_first.sort_by_key(|choice| std::cmp::Reverse(choice.records.len()));
    longest_first.into_iter().for_each(|choice| out.place(&choice.records));
    for choice in &choices {
        let entry = out.entry(choice)?;
        out.opcodes.push(entry);
    }
    if out.implied.len() > common::SETS || out.wholes.len() > common::WHOLES || out.sizes.len() > common::SIZES_LEN {
        return Err("more sets of registers or sizes than a record can name".to_owned());
    }
    // A mask serves in place of a comparison.
    out.implied.resize(common::SETS, [0; 4]);
    out.wholes.resize(common::WHOLES, [0; 4]);
    out.sizes.resize(common::SIZES_LEN, 0);
    Ok(out)
}

impl Common {
    /// Where the records lie in the lists, if they do.
    fn find(&self, records: &[u16]) -> Option<usize> {
        self.lists.windows(records.len()).position(|window| window == records)
    }
    fn place(&mut self, records: &[u16]) {
        if self.find(records).is_none() {
            self.lists.extend(records);
        }
    }
    /// The entry of an opcode whose choice has its place.
    fn entry(&self, choice: &Choice) -> Result<u32, String> {
        let start = self.find(&choice.records).and_then(|start| u16::try_from(start).ok());
        let start = start.ok_or("more choices than an opcode's entry can name")?;
        Ok(choice.position << select::POSITION | (choice.records.len() as u32 - 1) << select::MASK | u32::from(start))
    }
}

/// The fields that choose, by their positions in the word of [`select`], and the bits of a rule for each of their values.
const FIELDS: [(u32, &[u64]); 5] = [
    (0, &bits::<8>(RM)),
    (3, &bits::<8>(EXT)),
    (select::IS_REGISTER, &[MEM, REG]),
    (select::PP, &bits::<4>(PP)),
    (select::EXT, &bits::<2>(V)),
];

const fn bits<const N: usize>(first: u32) -> [u64; N] {
    let mut bits = [0; N];
    let mut at = 0;
    while at < N {
        bits[at] = 1 << (first + at as u32);
        at += 1;
    }
    bits
}

/// The most records among which an entry can choose.
const MOST: usize = 256;

/// The records of an opcode, and the position of the fields that choose among them.
struct Choice {
    position: u32,
    records: Vec<u16>,
}

impl Choice {
    /// The choice by as few bits as possible, of fields side by side. `ruled` has the opcode's rules, each with its record.
    fn of(ruled: &[(u64, u16)]) -> Choice {
        let runs = (0..FIELDS.len()).flat_map(|first| (first..=FIELDS.len()).map(move |end| &FIELDS[first..end]));
        let few = runs.filter(|fields| fields.iter().map(|(_, bits)| bits.len()).product::<usize>() <= MOST);
        let choices = few.map(|fields| {
            let position = fields.first().map_or(0, |(position, _)| *position);
            let chosen: Vec<Option<u16>> = combined(fields).iter().map(|values| decided(ruled, values)).collect();
            let undecided = chosen.iter().filter(|record| record.is_none()).count();
            // The record 0 stands for one that no field decides.
            let records: Vec<u16> = chosen.into_iter().map(Option::unwrap_or_default).collect();
            // Of those that leave something undecided, the part that they leave counts.
            (undecided * 256 / records.len(), Choice { position, records })
        });
        let best = choices.min_by_key(|(undecided, choice)| (*undecided, choice.records.len()));
        best.map_or(Choice { position: 0, records: vec![0] }, |(_, choice)| choice)
    }
}

/// The bits of a rule for each value of the fields side by side.
fn combined(fields: &[(u32, &[u64])]) -> Vec<Vec<u64>> {
    fields.iter().fold(vec![Vec::new()], |values, (_, bits)| {
        let with =
            |bit: &u64| values.iter().map(|value| value.iter().copied().chain([*bit]).collect()).collect::<Vec<_>>();
        bits.iter().flat_map(with).collect()
    })
}

/// The record of the instructions that have each of the values, if they have one record.
fn decided(ruled: &[(u64, u16)], values: &[u64]) -> Option<u16> {
    let fields = |bit: u64| FIELDS.iter().find(|(_, bits)| bits.contains(&bit)).map_or(0, |(_, bits)| all(bits));
    let known = values.iter().fold(0, |known, value| known | fields(*value));
    let value = all(values);
    let mut kept: Vec<(u64, u16)> = Vec::new();
    for &(rule, record) in ruled.iter().filter(|(rule, _)| rule & value == value) {
        let rule = rule & !known | value;
        // A rule that an earlier one covers never fits.
        if kept.iter().all(|(earlier, _)| rule & !earlier & ALL != 0) {
            kept.push((rule, record));
        }
    }
    let first = kept.first().map_or(0, |(_, record)| *record);
    kept.iter().all(|(_, record)| *record == first).then_some(first)
}

fn all(bits: &[u64]) -> u64 {
    bits.iter().fold(0, |all, bit| all | bit)
}

/// The word of a form, without the number of its sizes, and these; 0 if they cannot tell it.
fn record(form: &Form, in_memory: bool, semantics: &mut Semantics, out: &mut Common) -> Result<[u64; 2], String> {
    let stored = encode(form, semantics)?;
    let numbers = stored[part::NUMBERS];
    let attributes = (stored[part::MEMORY] >> part::ATTRIBUTES) as u32;
    let has = |bits: u32| attributes & bits != 0;
    let unusual = attr::REP | attr::IMAGE | attr::NF | attr::SCC | attr::MASK | attr::MASK_CLEARED;
    if has(unusual | attr::VECTOR_INDEX | attr::ZERO_UPPER) || stored[part::MEMORY] >> part::SCALE & 0xffff != 0 {
        return Ok([0; 2]);
    }
    let kind = match (numbers >> part::IMPLICIT_MEMORY) as u8 {
        0 => stack::NONE,
        implicit::PUSH => stack::PUSH,
        implicit::POP if stored[part::MEMORY] as u16 == 0 => stack::POP,
        implicit::LEAVE => stack::LEAVE,
        _ => return Ok([0; 2]),
    };
    let code = if in_memory { stored[part::MEMORY] as u16 } else { 0 };
    let is_near = ["jump", "jcc", "call", "ret"].iter().any(|flow| form.has(flow));
    let sizes = [2, 4, 8].map(|plain| operand_size(plain, is_near, &has));
    let Some(fields) = operands(stored[part::OPERANDS], in_memory, sizes[0] == 2, &has) else { return Ok([0; 2]) };
    let mut memory_sizes = [0; 3];
    for (to, (plain, size)) in memory_sizes.iter_mut().zip([2, 4, 8].into_iter().zip(sizes)) {
        let Some(size) = memory_size(code as u8, size, plain == 8) else { return Ok([0; 2]) };
        *to = size;
    }
    let mut flags = semantics.flags.get((numbers >> part::FLAGS & 0xff) as usize).copied().unwrap_or_default();
    flags[0] |= if has(attr::CONDITION) { CONDITIONS[usize::from(form.opcode & 15)] } else { 0 };
    let Some((implied, whole)) = sets(numbers, semantics, kind, flags, sizes[0] == 2) else { return Ok([0; 2]) };
    let is_lea = form.space == 0 && form.opcode == 0x8d;
    let bits = [
        (common::COUNT, has(attr::COUNT)),
        (common::VENDOR, is_near || stored[part::MEMORY] as u8 == size::M),
        (common::NO_SEGMENT, is_lea),
        (common::IN_MEMORY, in_memory),
    ];
    let bits = bits.into_iter().filter(|(_, holds)| *holds).fold(0, |word, (bit, _)| word | bit);
    let first = fields
        | u64::from(number(&mut out.implied, implied)?) << common::IMPLIED
        | u64::from(number(&mut out.wholes, whole)?) << common::WHOLE
        | u64::from(number(&mut semantics.flags, flags)?) << common::FLAGS
        | u64::from(code >> memory::ACCESS & 3) << common::ACCESS
        | u64::from(kind) << common::STACK
        | bits;
    let bytes = |sizes: [u8; 3]| u64::from(u32::from_le_bytes([sizes[0], sizes[1], sizes[2], 0]));
    Ok([first, bytes(sizes) | bytes(memory_sizes) << common::MEMORY_SIZES])
}

/// The bytes of the two fields that name registers; `has_words` says that a prefix 66 makes operands of two bytes. `None` if others do, or in
/// other banks.
fn operands(mut codes: u64, is_memory: bool, has_words: bool, has: &impl Fn(u32) -> bool) -> Option<u64> {
    let mut word = 0;
    while codes != 0 {
        let code = codes as u16;
        codes >>= 16;
        if code & (operand::SOURCE_STRING | operand::DESTINATION_STRING) != 0 || code >> operand::COUNT & 3 != 0 {
            return None;
        }
        let place = match code & operand::SOURCE {
            source::NONE => continue,
            source::REG | source::REG_VECTOR => common::REG,
            source::RM | source::RM_VECTOR => common::RM,
            _ => return None,
        };
        let is_general = match code >> operand::BANK & 7 {
            register_bank::GENERAL => true,
            register_bank::VECTOR => false,
            _ => return None,
        };
        if code & operand::REGISTER_FORM != 0 && is_memory {
            continue;
        }
        let (is_read, is_written) = (code >> operand::ACCESS & 1 != 0, code >> operand::ACCESS & 2 != 0);
        let keeps_part = has(attr::PART) || has(attr::PART_OF_REGISTER) && !is_memory;
        let keeps = |kept_by| is_general && code & kept_by != 0 || keeps_part && !is_read;
        let kept_by_word = if has_words { operand::BYTE | operand::SIZED } else { operand::BYTE };
        let used = [
            (usage::READ, is_read),
            (usage::WRITTEN, is_written),
            (usage::WHOLE, is_written && !keeps(operand::BYTE)),
            (usage::WHOLE_BY_WORD, is_written && !keeps(kept_by_word)),
            (usage::VECTOR, !is_general && (is_read || is_written)),
            (usage::BYTE, is_general && code & operand::BYTE != 0),
        ];
        let field = used.into_iter().filter(|(_, holds)| *holds).fold(0, |bits, (bit, _)| bits | u64::from(bit));
        if word >> place & 0xff != 0 {
            return None;
        }
        word |= field << place;
    }
    // In place of a register modrm.rm may name the base of an address.
    if is_memory && word >> common::RM & 0xff == 0 && !has(attr::NOTHING) {
        word |=
            u64::from(usage::READ) << common::RM | u64::from(usage::INDEX) << common::INDEX | u64::from(common::RIP);
    }
    Some(word)
}

/// The operand size for one by prefixes alone, in bytes. Near branches are Intel's.
fn operand_size(plain: u8, is_near: bool, has: &impl Fn(u32) -> bool) -> u8 {
    match plain {
        _ if has(attr::BYTE) => 1,
        _ if is_near || has(attr::FORCE_64) => 8,
        4 if has(attr::DEFAULT_64) => 8,
        plain => plain,
    }
}

/// The size of the memory operand in bytes: in 64-bit mode, Intel's.
fn memory_size(code: u8, operand: u8, w: bool) -> Option<u8> {
    Some(match code {
        0..size::FIRST => code,
        size::V => operand,
        size::Z => operand.min(4),
        size::Y => 4 << u8::from(w),
        size::P => operand + 2,
        size::S => 10,
        size::A => operand * 2,
        size::X => 16,
        size::H => 8,
        size::F => 4,
        size::E => 2,
        size::J => 8 << u8::from(w),
        size::M if operand == 2 => 2,
        size::M => 4,
        _ => return None,
    })
}

/// The sets of registers that no field names, with those of the stack's addresses and of the flags: read and written, then overwritten.
fn sets(
    numbers: u64,
    semantics: &Semantics,
    kind: u8,
    flags: [u32; 4],
    has_words: bool,
) -> Option<([u64; 4], [u64; 4])> {
    let set = |position: u32| semantics.sets.get((numbers >> position & 0xff) as usize).copied();
    let system = 1 << bank::SYSTEM;
    let flags_register = |holds: bool| u128::from(holds) << common::FLAGS_REGISTER;
    let stack = match kind {
        stack::NONE => 0,
        stack::LEAVE => 1 << 5,
        _ => 1 << 4,
    };
    let read = set(part::READ)? | flags_register(flags[0] != 0) | stack;
    let written = set(part::WRITTEN)? | flags_register(flags[1] != 0);
    // The base of a written segment register would be written too.
    if written >> bank::SEGMENT & 0x3f != 0 {
        return None;
    }
    let by_word = if has_words { part::OVERWRITTEN_BY_WORD } else { part::OVERWRITTEN };
    let overwritten = [set(part::OVERWRITTEN)? & !system, set(by_word)? & !system];
    let words = |[first, second]: [u128; 2]| [first as u64, (first >> 64) as u64, second as u64, (second >> 64) as u64];
    Some((words([read, written]), words(overwritten)))
}
