//! The tables of common effects: what a form reads and writes, in 64-bit mode and the legacy maps, without a choice by rules.
//!
//! A form becomes a word ([`super::codes::common`]), which has the number of its sizes. A form that the word cannot tell gets the word 0, and the general tables serve.

use super::codes::common::{self, implicit as stack, select, usage};
use super::codes::key::{ALL, BITS, EXT, MEM, PP, REG, RM, V, W};
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
    /// By space and opcode: a field and a start.
    pub(crate) opcodes: Vec<u32>,
    /// Numbers of records, or of `nodes` with [`common::NODE`].
    pub(crate) lists: Vec<u16>,
    /// Fields and starts of further choices.
    pub(crate) nodes: Vec<u32>,
    pub(crate) records: Vec<u64>,
    /// Sizes of operands and of memory.
    pub(crate) sizes: Vec<u64>,
    /// Sets of registers read, written, overwritten, and overwritten if the operand size is 2: the low and the high word of each.
    pub(crate) implied: Vec<[u64; 8]>,
}

/// Builds the tables of the forms, which `semantics` has as words.
pub(crate) fn build(
    forms: &[Form],
    slots: &BTreeMap<(usize, u8), Vec<usize>>,
    semantics: &mut Semantics,
) -> Result<Common, String> {
    let mut out =
        Common { records: vec![0], sizes: vec![0], implied: vec![[0; 8]], lists: vec![0], ..Default::default() };
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
                let words =
                    if slot == (0, 0xc8) { [0; 2] } else { record(&forms[i], in_memory, semantics, &mut out.implied)? };
                let [first, sizes] = words;
                let sizes = u64::from(number(&mut out.sizes, sizes)?) << common::SIZES;
                let number = intern(&mut out.records, if first == 0 { 0 } else { first | sizes });
                let rules = rules::rules(&forms[i]).into_iter().map(|rule| (rule & !other, number));
                ruled.extend(rules.filter(|(rule, _)| rule & (MEM | REG) != 0));
            }
            ruled.retain(|(rule, _)| rule & rule::REFUSED == 0 && rule >> BITS & 1 != 0);
            let choice = choose(&ruled, &mut out, 0)?;
            let start = out.place(&[choice])?;
            // One choice at least, so that a look-up in the lists always follows.
            let entry = if choice & common::NODE == 0 { start } else { out.nodes[usize::from(choice & !common::NODE)] };
            out.opcodes.push(entry);
        }
    }
    if out.implied.len() > common::SETS {
        return Err("more sets of registers than a record can name".to_owned());
    }
    Ok(out)
}

impl Common {
    /// The start of the items in the lists.
    fn place(&mut self, items: &[u16]) -> Result<u32, String> {
        let found = self.lists.windows(items.len()).position(|window| window == items);
        let start = found.unwrap_or_else(|| {
            self.lists.extend(items);
            self.lists.len() - items.len()
        });
        u16::try_from(start).map(u32::from).map_err(|_| "more choices than an opcode's entry can name".to_owned())
    }
}

/// A field that chooses: its position in the word of [`select`], and the bits of a rule for each of its values.
struct Field {
    position: u32,
    values: Vec<u64>,
}

impl Field {
    /// The fields, the cheapest first.
    fn all() -> [Field; 7] {
        let both = [MEM, REG].into_iter().flat_map(|form| (EXT..EXT + 8).map(move |bit| form | 1 << bit)).collect();
        let field =
            |position, at: u32, count: u32| Field { position, values: (at..at + count).map(|bit| 1 << bit).collect() };
        [
            Field { position: select::IS_REGISTER, values: vec![MEM, REG] },
            field(3, EXT, 8),
            Field { position: 3, values: both },
            field(select::PP, PP, 4),
            field(select::EXT + 3, W, 2),
            field(select::EXT, V, 2),
            field(0, RM, 8),
        ]
    }
    fn entry(&self) -> u32 {
        self.position << select::POSITION | (self.values.len() as u32 - 1) << select::MASK
    }
}

/// The rules that allow a value of a field, with that value alone. A rule that an earlier one covers never fits.
fn narrowed(ruled: &[(u64, u16)], value: u64, all: u64) -> Vec<(u64, u16)> {
    let mut kept: Vec<(u64, u16)> = Vec::new();
    for &(rule, record) in ruled.iter().filter(|(rule, _)| rule & value == value) {
        let rule = rule & !all | value;
        if kept.iter().all(|(earlier, _)| rule & !earlier & ALL != 0) {
            kept.push((rule, record));
        }
    }
    kept
}

/// The record of the rules, or a node that chooses; the record 0 if no field decides.
fn choose(ruled: &[(u64, u16)], out: &mut Common, depth: u32) -> Result<u16, String> {
    let first = ruled.first().map_or(0, |(_, record)| *record);
    if ruled.iter().all(|(_, record)| *record == first) {
        return Ok(first);
    }
    let split = |field: &Field| -> Vec<Vec<(u64, u16)>> {
        let all = field.values.iter().fold(0, |all, value| all | value);
        field.values.iter().map(|value| narrowed(ruled, *value, all)).collect()
    };
    let undecided = |part: &&Vec<(u64, u16)>| part.iter().any(|(_, record)| *record != part[0].1);
    // The field that leaves the least part of its values undecided, among those that separate anything.
    let best = Field::all()
        .into_iter()
        .map(|field| (field.entry(), split(&field)))
        .filter(|(_, parts)| parts.iter().any(|part| part.len() < ruled.len()))
        .min_by_key(|(_, parts)| (parts.iter().filter(undecided).count() * 8).div_ceil(parts.len()));
    let Some((field, parts)) = best.filter(|_| depth < 4) else { return Ok(0) };
    let items = parts.iter().map(|part| choose(part, out, depth + 1)).collect::<Result<Vec<u16>, String>>()?;
    let entry = field | out.place(&items)?;
    let node = intern(&mut out.nodes, entry);
    Ok(node | common::NODE)
}

/// The word of a form, without the number of its sizes, and these; 0 if they cannot tell it.
fn record(
    form: &Form,
    in_memory: bool,
    semantics: &mut Semantics,
    implied: &mut Vec<[u64; 8]>,
) -> Result<[u64; 2], String> {
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
    let code = stored[part::MEMORY] as u16;
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
    let Some(sets) = sets(numbers, semantics, kind, flags, sizes[0] == 2) else { return Ok([0; 2]) };
    let byte = |place, bit| if is_byte(stored[part::OPERANDS], place) { bit } else { 0 };
    let is_lea = form.space == 0 && form.opcode == 0x8d;
    let bits = [
        (common::SIMPLE, true),
        (common::COUNT, has(attr::COUNT)),
        (common::VENDOR, is_near || code as u8 == size::M),
        (common::NO_SEGMENT, is_lea),
        (common::IN_MEMORY, in_memory),
    ];
    let bits = bits.into_iter().filter(|(_, holds)| *holds).fold(0, |word, (bit, _)| word | bit);
    let first = fields
        | u64::from(number(implied, sets)?) << common::IMPLIED
        | u64::from(number(&mut semantics.flags, flags)?) << common::FLAGS
        | byte(&[source::REG], common::BYTE_REG)
        | if in_memory { 0 } else { byte(&[source::RM], common::BYTE_RM) }
        | u64::from(code >> memory::ACCESS & 3) << common::ACCESS
        | u64::from(kind) << common::STACK
        | bits;
    let bytes = |sizes: [u8; 3]| u64::from(u32::from_le_bytes([sizes[0], sizes[1], sizes[2], 0]));
    Ok([first, bytes(sizes) | bytes(memory_sizes) << common::MEMORY_SIZES])
}

/// The codes of the two fields that name registers; `has_words` says that a prefix 66 makes operands of two bytes. `None` if others do, or in other banks.
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
        let mut field = 0;
        for (variant, is_word) in [false, true].into_iter().enumerate() {
            if code & operand::REGISTER_FORM != 0 && is_memory {
                continue;
            }
            let (is_read, is_written) = (code >> operand::ACCESS & 1 != 0, code >> operand::ACCESS & 2 != 0);
            let kept_by = if is_word && has_words { operand::BYTE | operand::SIZED } else { operand::BYTE };
            let keeps_part = has(attr::PART) || has(attr::PART_OF_REGISTER) && !is_memory;
            let keeps = is_general && code & kept_by != 0 || keeps_part && !is_read;
            let used = [
                (usage::READ, is_read),
                (usage::WRITTEN, is_written),
                (usage::WHOLE, is_written && !keeps),
                (usage::VECTOR, !is_general),
            ];
            let bits = used.into_iter().filter(|(_, holds)| *holds).fold(0, |bits, (bit, _)| bits | bit);
            field |= bits << (variant as u32 * usage::BITS);
        }
        if word >> place & common::FIELD != 0 {
            return None;
        }
        word |= field << place;
    }
    // In place of a register modrm.rm may name the base of an address.
    for field in [common::RM, common::RM + usage::BITS] {
        if is_memory && word >> field & 15 == 0 && !has(attr::NOTHING) {
            word |= usage::READ << field;
        }
    }
    Some(word)
}

/// Whether a field at one of the places names a byte register.
fn is_byte(mut codes: u64, places: &[u16]) -> bool {
    let mut found = false;
    while codes != 0 {
        let code = codes as u16;
        codes >>= 16;
        found |= places.contains(&(code & operand::SOURCE)) && code & operand::BYTE != 0;
    }
    found
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

/// The sets of registers that no field names, with those of the stack's addresses and of the flags.
fn sets(numbers: u64, semantics: &Semantics, kind: u8, flags: [u32; 4], has_words: bool) -> Option<[u64; 8]> {
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
    let sets = [read, written, overwritten[0], overwritten[1]].map(|set| [set as u64, (set >> 64) as u64]);
    let mut words = [0; 8];
    words.iter_mut().zip(sets.into_iter().flatten()).for_each(|(to, word)| *to = word);
    Some(words)
}
