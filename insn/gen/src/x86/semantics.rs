//! The cold tables: what a form reads and writes.
//!
//! A form becomes six numbers ([`super::codes::form`]). All but implicit memory number what is stored once, however many forms have
//! it.

use super::codes::{attr, bank, each_register, form as part, implicit, memory, operand, place, size, space};
use super::parse::{Form, Operand};
use std::collections::{BTreeMap, HashMap};

/// Fixed registers, and their numbers in a register set.
const FIXED: &[(&str, u8)] = &[
    ("al", 0),
    ("rax", 0),
    ("rcx", 1),
    ("rdx", 2),
    ("rbx", 3),
    ("es", 88),
    ("cs", 89),
    ("ss", 90),
    ("ds", 91),
    ("fs", 92),
    ("gs", 93),
    ("xmm0", bank::VECTOR),
];
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
/// Those that user code sets when it writes them: not interrupt and I/O privilege, nor virtual-8086 mode and resume.
const USERS_FLAGS: u32 = STATUS | 1 << 8 | 1 << 10 | 1 << 14 | 1 << 18 | 1 << 21;

/// The tables.
#[derive(Default)]
pub(crate) struct Semantics {
    pub(crate) forms: Vec<[u8; part::LEN]>,
    pub(crate) operands: Vec<[u16; 4]>,
    /// Access and size of memory, and its scale.
    pub(crate) memories: Vec<[u16; 2]>,
    /// Numbers of the sets of registers read and written.
    pub(crate) implicit: Vec<[u8; 2]>,
    pub(crate) sets: Vec<u128>,
    /// Flags read, written, always set by the operation, left undefined.
    pub(crate) flags: Vec<[u32; 4]>,
    pub(crate) attributes: Vec<u32>,
    pub(crate) rows: Vec<[u8; 16]>,
    pub(crate) pages: Vec<[u16; 16]>,
    pub(crate) lists: Vec<u16>,
}

fn intern<T: PartialEq>(all: &mut Vec<T>, item: T) -> u16 {
    let index = all.iter().position(|i| *i == item).unwrap_or_else(|| {
        all.push(item);
        all.len() - 1
    });
    index as u16
}

/// The number of an item, of which there are few.
fn number<T: PartialEq>(all: &mut Vec<T>, item: T) -> Result<u8, String> {
    u8::try_from(intern(all, item)).map_err(|_| "more than a byte can name".to_owned())
}

/// Builds the tables; `rules` names the form of every rule of every opcode, in order.
pub(crate) fn build(forms: &[Form], rules: &BTreeMap<(usize, u8), Vec<usize>>) -> Result<Semantics, String> {
    let mut out = Semantics {
        operands: vec![[0; 4]],
        memories: vec![[0; 2]],
        implicit: vec![[0; 2]],
        sets: vec![0],
        flags: vec![[0; 4]],
        attributes: vec![0],
        lists: vec![0],
        pages: vec![[0; 16]],
        ..Default::default()
    };
    let mut starts: HashMap<Vec<u16>, u16> = HashMap::new();
    let mut at: BTreeMap<(usize, u8), u16> = BTreeMap::new();
    for (slot, list) in rules {
        let mut numbers = Vec::new();
        for i in list {
            let form = &forms[*i];
            let row = encode(form, &mut out).map_err(|e| format!("line {}: {e}", form.line))?;
            numbers.push(intern(&mut out.forms, row));
        }
        let lists = &mut out.lists;
        let start = *starts.entry(numbers).or_insert_with_key(|numbers| {
            lists.extend(numbers);
            (lists.len() - numbers.len()) as u16
        });
        at.insert(*slot, start);
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

fn encode(form: &Form, out: &mut Semantics) -> Result<[u8; part::LEN], String> {
    let mut operands = [0; 4];
    let mut used = 0;
    for operand in &form.operands {
        if let Some(code) = operand_code(operand) {
            *operands.get_mut(used).ok_or("more than four operands")? = code;
            used += 1;
        }
    }
    let accessed = form
        .operands
        .iter()
        .find(|o| ["E", "M", "MV", "MS", "Q", "W", "KE", "BE", "O", "X", "Y"].contains(&o.place.as_str()));
    let memory = accessed
        .map_or(Ok(0), |operand| size_of(operand).map(|size| (operand.access as u16) << memory::ACCESS | size))?;
    let (mut reads, mut writes) = (0u128, 0u128);
    for attr in &form.attrs {
        for (prefix, r, w) in [("+r=", true, false), ("+w=", false, true), ("+rw=", true, true)] {
            if let Some(names) = attr.strip_prefix(prefix) {
                let set = registers(names)?;
                reads |= if r { set } else { 0 };
                writes |= if w { set } else { 0 };
            }
        }
    }
    let (more_reads, more_writes) = implied(form)?;
    let registers = [number(&mut out.sets, reads | more_reads)?, number(&mut out.sets, writes | more_writes)?];
    let mut stored = [0; part::LEN];
    stored[part::OPERANDS] = number(&mut out.operands, operands)?;
    stored[part::MEMORY] = number(&mut out.memories, [memory, scale(form)])?;
    stored[part::IMPLICIT] = number(&mut out.implicit, registers)?;
    stored[part::FLAGS] = number(&mut out.flags, flags(form))?;
    stored[part::IMPLICIT_MEMORY] =
        implicit::NAMES.iter().find(|(name, _)| form.has(name)).map_or(0, |(_, kind)| *kind);
    stored[part::ATTRIBUTES] = number(&mut out.attributes, attributes(form))?;
    Ok(stored)
}

fn operand_code(used: &Operand) -> Option<u16> {
    let byte = if used.size == "b" || used.place == "al" { operand::BYTE } else { 0 };
    let place = place::NAMES.iter().find(|(name, _)| *name == used.place).map(|(_, place)| *place);
    let fixed = || FIXED.iter().find(|(name, _)| *name == used.place).map(|(_, number)| place::FIXED | number);
    let sized = if ["v", "w", "z", ""].contains(&used.size.as_str()) { operand::SIZED } else { 0 };
    Some(u16::from(place.or_else(fixed)?) | byte | sized | (used.access as u16) << operand::ACCESS)
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

/// Ways of flow by which more happens to the flags than the instruction tells, and all that needs privilege.
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
        (attr::QUAD, form.has("quad")),
        (attr::NF, form.has("nf") && !form.cond("nf1")),
        (attr::SCC, form.has("scc")),
        (attr::SCALED, form.is_evex() && vector),
        (attr::MERGES, matches!(first, "V" | "W" | "H" | "U") && !form.has("sel")),
        (attr::VECTOR_RM, form.rm_operand().is_some_and(|o| matches!(o.place.as_str(), "W" | "U"))),
        (attr::PAIR, form.has("pair")),
        (attr::IMAGE, form.has("image")),
        (attr::COUNT, form.has("count")),
        (attr::PART, form.has("part")),
        (attr::NOTHING, form.has("nothing")),
        (attr::ZERO_UPPER, form.cond("nd1") || form.cond("zu")),
        (attr::PART_OF_REGISTER, form.has("partr")),
    ];
    attributes.into_iter().filter(|(_, holds)| *holds).fold(0, |bits, (bit, _)| bits | bit)
}
