//! The cold tables: what a form reads and writes.
//!
//! A form becomes three words ([`super::codes::form`]). Sets of registers and of flags are stored once, however many forms have them.

use super::codes::{attr, bank, each_register, form as part, implicit, memory, select, size, space};
use super::parse::{Form, Operand};
use super::{operands, rules, selection};
use std::collections::{BTreeMap, HashMap};

macro_rules! named {
    ($($name:ident = $number:expr, $text:literal;)*) => {
        &[$(($text, $number)),*]
    };
}
/// The registers that are in no numbered bank.
const REGISTERS: &[(&str, u8)] = each_register!(named);

const STATUS: u32 = 0x8d5;
const ALL_FLAGS: u32 = 0x3f_7fd5;
const AUXILIARY: u32 = 1 << 4;
/// The flags that user code can change: all except those of interrupts, I/O privilege, virtual-8086 mode and resume.
const USERS_FLAGS: u32 = STATUS | 1 << 8 | 1 << 10 | 1 << 14 | 1 << 18 | 1 << 21;

/// The number of the sets of flags, with room to spare.
const FLAGS: usize = 64;

/// The tables.
#[derive(Default)]
pub(crate) struct Semantics {
    pub(crate) forms: Vec<[u64; part::LEN]>,
    pub(crate) sets: Vec<u128>,
    /// The flags that a form reads, writes, always sets, and leaves undefined.
    pub(crate) flags: Vec<[u32; 4]>,
    pub(crate) rows: Vec<[u8; 16]>,
    pub(crate) pages: Vec<[u16; 16]>,
    pub(crate) lists: Vec<u16>,
}

impl Semantics {
    /// Gives the sets of flags the number that a mask allows for.
    pub(crate) fn pad_flags(&mut self) -> Result<(), String> {
        if self.flags.len() > FLAGS {
            return Err("more sets of flags than a record can name".to_owned());
        }
        self.flags.resize(FLAGS, [0; 4]);
        Ok(())
    }
}

pub(super) fn intern<T: PartialEq>(all: &mut Vec<T>, item: T) -> u16 {
    let index = all.iter().position(|i| *i == item).unwrap_or_else(|| {
        all.push(item);
        all.len() - 1
    });
    index as u16
}

/// The number of an item, of which there are few.
pub(super) fn number<T: PartialEq>(all: &mut Vec<T>, item: T) -> Result<u8, String> {
    u8::try_from(intern(all, item)).map_err(|_| "more than a byte can name".to_owned())
}

/// Builds the tables; `slots` names the forms of every opcode, in order.
pub(crate) fn build(forms: &[Form], slots: &BTreeMap<(usize, u8), Vec<usize>>) -> Result<Semantics, String> {
    let mut out = Semantics {
        forms: vec![[0; part::LEN]],
        sets: vec![0],
        flags: vec![[0; 4]],
        lists: vec![0],
        pages: vec![[0; 16]],
        ..Default::default()
    };
    let mut starts: HashMap<Vec<u16>, u16> = HashMap::new();
    let mut at: BTreeMap<(usize, u8), u16> = BTreeMap::new();
    for (slot, list) in slots {
        let mut ruled = Vec::new();
        for i in list {
            let form = &forms[*i];
            let row = encode(form, &mut out).map_err(|e| format!("line {}: {e}", form.line))?;
            let number = intern(&mut out.forms, row);
            ruled.extend(rules::rules(form).into_iter().map(|rule| (rule, number)));
        }
        let (way, numbers) = selection::select(&ruled);
        let lists = &mut out.lists;
        let start = *starts.entry(numbers).or_insert_with_key(|numbers| {
            lists.extend(numbers);
            (lists.len() - numbers.len()) as u16
        });
        at.insert(*slot, way << select::POSITION | start);
    }
    if out.lists.len() >> select::POSITION != 0 {
        return Err("more forms than an opcode's entry can name".to_owned());
    }
    for space in 0..space::NAMES.len() {
        let row = std::array::from_fn(|high| {
            let page = std::array::from_fn(|low| at.get(&(space, (high * 16 + low) as u8)).copied().unwrap_or(0));
            intern(&mut out.pages, page) as u8
        });
        out.rows.push(row);
    }
    Ok(out)
}

pub(super) fn encode(form: &Form, out: &mut Semantics) -> Result<[u64; part::LEN], String> {
    let codes: Vec<u16> = form.operands.iter().filter_map(|operand| operands::code(form, operand)).collect();
    if codes.len() > 4 {
        return Err("more than four operands".to_owned());
    }
    let accessed = form
        .operands
        .iter()
        .find(|o| ["E", "M", "MV", "MS", "Q", "W", "KE", "BE", "O", "X", "Y"].contains(&o.place.as_str()));
    let memory = accessed
        .map_or(Ok(0), |operand| size_of(operand).map(|size| (operand.access as u16) << memory::ACCESS | size))?;
    let implied = Implied::of(form)?;
    let kind = implicit::NAMES.iter().find(|(name, _)| form.has(name)).map_or(0, |(_, kind)| *kind);
    let numbers = [
        (part::READ, number(&mut out.sets, implied.read)?),
        (part::WRITTEN, number(&mut out.sets, implied.written)?),
        (part::OVERWRITTEN, number(&mut out.sets, implied.overwritten)?),
        (part::OVERWRITTEN_BY_WORD, number(&mut out.sets, implied.overwritten_by_word)?),
        (part::FLAGS, number(&mut out.flags, flags(form))?),
        (part::IMPLICIT_MEMORY, kind),
    ];
    let mut stored = [0; part::LEN];
    stored[part::OPERANDS] = codes.iter().rev().fold(0, |word, code| word << 16 | u64::from(*code));
    stored[part::MEMORY] =
        u64::from(memory) | u64::from(scale(form)) << part::SCALE | u64::from(attributes(form)) << part::ATTRIBUTES;
    stored[part::NUMBERS] = numbers.into_iter().fold(0, |word, (at, number)| word | u64::from(number) << at);
    Ok(stored)
}

/// The registers that no field names.
struct Implied {
    read: u128,
    written: u128,
    overwritten: u128,
    /// The overwritten registers if the operand size is 2.
    overwritten_by_word: u128,
}

const GENERAL: u128 = 0xffff_ffff;

impl Implied {
    fn of(form: &Form) -> Result<Implied, String> {
        let (mut read, mut written) = implied(form)?;
        for attr in &form.attrs {
            for (prefix, r, w) in [("+r=", true, false), ("+w=", false, true), ("+rw=", true, true)] {
                if let Some(names) = attr.strip_prefix(prefix) {
                    let set = registers(names)?;
                    read |= if r { set } else { 0 };
                    written |= if w { set } else { 0 };
                }
            }
        }
        let mut kept = 0;
        let mut sized = implicit::NAMES.iter().any(|(name, _)| form.has(name));
        for operand in &form.operands {
            sized |= operand.is_sized() && !["I", "J", "A", "1"].contains(&operand.place.as_str());
            if let Some(number) = operand.fixed() {
                read |= if operand.is_read() { 1 << number } else { 0 };
                written |= if operand.is_written() { 1 << number } else { 0 };
                kept |= if operand.is_byte() { 1 << number } else { 0 };
            }
        }
        if form.has("part") {
            kept |= written & !read;
        }
        // On some processors a null selector keeps the base of the segment (APM vol. 2, 4.5.3).
        if written & registers("es,cs,ss,ds,fs,gs")? != 0 {
            kept |= registers("fs_base,gs_base")?;
        }
        let overwritten = written & !kept & !registers("flags,rip,system")?;
        let overwritten_by_word = if sized { overwritten & !GENERAL } else { overwritten };
        Ok(Implied { read, written, overwritten, overwritten_by_word })
    }
}

fn size_of(operand: &Operand) -> Result<u16, String> {
    let fixed = [("b", 1), ("w", 2), ("d", 4), ("q", 8), ("t", 10), ("o", 16), ("u", 32), ("c", 64), ("", 0)];
    if let Some((_, bytes)) = fixed.iter().find(|(letter, _)| *letter == operand.size) {
        return Ok(*bytes);
    }
    if let Some((_, code)) = size::NAMES.iter().find(|(name, _)| *name == operand.size) {
        return Ok((*code).into());
    }
    operand
        .size
        .parse()
        .ok()
        .filter(|n| *n < u16::from(size::FIRST))
        .ok_or_else(|| format!("unknown size {}", operand.size))
}

/// Bytes of a broadcast element, and in the high byte disp8's scale where it is not the size of memory.
fn scale(form: &Form) -> u16 {
    let element = [("bw", 2), ("bd", 4), ("bq", 8)].iter().find(|(a, _)| form.has(a)).map_or(0, |(_, n)| *n);
    let fixed = form.attrs.iter().find_map(|a| a.strip_prefix('n')?.parse::<u16>().ok()).unwrap_or(0);
    if form.is_evex() { element | fixed << memory::SCALE } else { 0 }
}

fn registers(names: &str) -> Result<u128, String> {
    let range = |from: u8, count: u32| ((1u128 << count) - 1) << from;
    let mut set = 0;
    for name in names.split(',') {
        let single = |name| REGISTERS.iter().find(|(text, _)| *text == name).map_or(0, |(_, number)| 1u128 << number);
        let fxstate = range(bank::VECTOR, 16) | range(bank::MMX, 8) | single("mxcsr") | single("x87");
        set |= if single(name) != 0 {
            single(name)
        } else if let Some(n) = name.strip_prefix("xmm").and_then(|n| n.parse::<u32>().ok()) {
            1 << (u32::from(bank::VECTOR) + n)
        } else if let Some(n) = name.strip_prefix('r').and_then(|n| n.parse::<u32>().ok()) {
            1 << n
        } else {
            match name {
                "mm" => range(bank::MMX, 8),
                "tiles" => range(bank::TILE, 8),
                "vec16" => range(bank::VECTOR, 16),
                "vec8" => range(bank::VECTOR, 8),
                "fxstate" => fxstate,
                "state" => {
                    let banks =
                        range(bank::VECTOR, 32) | range(bank::MASK, 8) | range(bank::BOUND, 4) | range(bank::TILE, 8);
                    fxstate | banks | single("tilecfg") | single("bsr0") | single("ssp") | single("pkru")
                }
                _ => return Err(format!("unknown register {name}")),
            }
        };
    }
    Ok(set)
}

/// Registers that attributes and flow imply.
fn implied(form: &Form) -> Result<(u128, u128), String> {
    let (mut reads, mut writes) = (0, 0);
    let mut add = |r: &str, w: &str| -> Result<(), String> {
        reads |= if r.is_empty() { 0 } else { registers(r)? };
        writes |= if w.is_empty() { 0 } else { registers(w)? };
        Ok(())
    };
    if form.has("fp") {
        add("mxcsr", "mxcsr")?;
    }
    if form.has("fpu") {
        add("x87,mm", "x87,mm")?;
    }
    if ["push", "pop", "pushfar", "popfar", "pusha", "popa", "iret", "push2", "pop2"].iter().any(|a| form.has(a)) {
        add("rsp", "rsp")?;
    }
    if form.has("xlat") {
        add("rbx", "")?;
    }
    if form.has("maskmov") || form.has("maskmov8") {
        add("rdi", "")?;
    }
    if form.has("clzero") {
        add("rax", "")?;
    }
    if form.uses("X") {
        add("rsi", "rsi")?;
    }
    if form.uses("Y") {
        add("rdi", "rdi")?;
    }
    if form.uses("J") || form.has("call") || form.has("int") || form.has("pushfar") || form.has("trap") {
        add("rip", "")?;
    }
    if ["jump", "jcc", "call", "ret", "syscall", "int", "trap", "far"].iter().any(|a| form.has(a))
        || form.mnemonic == "xbegin"
    {
        add("", "rip")?;
    }
    if form.has("call") || form.has("ret") || form.has("far") {
        add("ssp", "ssp")?;
    }
    if form.has("far") && form.mnemonic != "enclu" && form.mnemonic != "uiret" {
        add("", "cs")?;
    }
    if form.has("pushfar") {
        add("cs", "")?;
    }
    if form.has("iret") {
        add("", "ss")?;
    }
    Ok((reads, writes))
}

fn letters(text: &str) -> u32 {
    text.chars().fold(0, |bits, c| {
        bits | match c {
            'c' => 1,
            'p' => 1 << 2,
            'a' => 1 << 4,
            'z' => 1 << 6,
            's' => 1 << 7,
            't' => 1 << 8,
            'i' => 1 << 9,
            'd' => 1 << 10,
            'o' => 1 << 11,
            'l' => 3 << 12,
            'n' => 1 << 14,
            'R' => 1 << 16,
            'v' => 1 << 17,
            'C' => 1 << 18,
            'V' => 3 << 19,
            'F' => 1 << 19,
            'I' => 1 << 21,
            _ => ALL_FLAGS,
        }
    })
}

/// Attributes of forms whose flags a handler, the kernel or a descriptor decides.
const ELSEWHERE: [&str; 6] = ["far", "int", "trap", "syscall", "tsx", "priv"];

fn flags(form: &Form) -> [u32; 4] {
    let (mut read, mut written, mut always, mut undefined) = (0, 0, 0, 0);
    for attr in &form.attrs {
        match attr.as_str() {
            "arith" => always |= STATUS,
            "logic" => (always, undefined) = (always | STATUS & !AUXILIARY, undefined | AUXILIARY),
            "eflags" => written |= ALL_FLAGS,
            _ => {}
        }
        match attr.split_once(':') {
            Some(("r", text)) => read |= letters(text),
            Some(("w", text)) => always |= letters(text),
            Some(("u", text)) => undefined |= letters(text),
            _ => {}
        }
    }
    if form.uses("X") || form.uses("Y") {
        read |= 1 << 10;
    }
    written |= always | undefined;
    let is_certain = !ELSEWHERE.iter().any(|way| form.has(way));
    [read, written, if is_certain { always & USERS_FLAGS } else { 0 }, undefined]
}

fn attributes(form: &Form) -> u32 {
    let general = ["E", "G", "Z", "B", "R", "X", "Y", "O", "al", "rax"];
    let mut sized = form.operands.iter().filter(|o| general.contains(&o.place.as_str())).peekable();
    let byte = sized.peek().is_some() && sized.all(|o| o.size == "b" || o.place == "al");
    let vector = ["V", "H", "W", "U", "MV"].iter().any(|p| form.uses(p));
    let first = form.operands.first().map_or("", |o| &o.place);
    let attributes = [
        (attr::CONDITION, form.has("cc")),
        (attr::REP, form.has("rep")),
        (attr::DEFAULT_64, form.has("d64")),
        (attr::FORCE_64, form.has("f64")),
        (attr::BYTE, byte),
        (attr::MASK, form.has("k") || form.has("keep")),
        (attr::MASK_CLEARED, form.has("kk") && !form.has("keep")),
        (attr::VECTOR_INDEX, form.uses("MV")),
        (attr::NF, form.has("nf") && !form.cond("nf1")),
        (attr::SCC, form.has("scc")),
        (attr::SCALED, form.is_evex() && vector),
        (attr::MERGES, matches!(first, "V" | "W" | "H" | "U") && !form.has("sel")),
        (attr::VECTOR_RM, form.rm_operand().is_some_and(|o| matches!(o.place.as_str(), "W" | "U"))),
        (attr::IMAGE, form.has("image")),
        (attr::COUNT, form.has("count")),
        (attr::PART, form.has("part")),
        (attr::NOTHING, form.has("nothing")),
        (attr::ZERO_UPPER, form.cond("nd1") || form.cond("zu")),
        (attr::PART_OF_REGISTER, form.has("partr")),
    ];
    attributes.into_iter().filter(|(_, holds)| *holds).fold(0, |bits, (bit, _)| bits | bit)
}
