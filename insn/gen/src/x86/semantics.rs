//! The cold tables: what a form reads and writes.
//!
//! A form becomes six numbers (see `insn/src/x86/form.rs`): operands, memory, implicit registers, flags, implicit memory, attributes.
//! All but implicit memory number what is stored once however many forms have it.

use super::parse::{Form, Operand, SPACES};
use std::collections::{BTreeMap, HashMap};

/// Places by number; the same order as in `insn/src/x86/form.rs`.
const PLACES: &[&str] = &[
    "", "E", "G", "B", "Z", "W", "V", "H", "L", "U", "R", "M", "MV", "MS", "Q", "P", "N", "S", "C", "D", "KG", "KH",
    "KR", "KE", "TG", "TR", "TH", "BG", "BE", "X", "Y", "O",
];
/// Fixed registers, numbered from 32 on, and their numbers in a register set.
const FIXED: &[(&str, u16)] = &[
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
    ("xmm0", 32),
];
/// Sizes that depend on the instruction, numbered from 0x80 on; below that a size is itself.
const SIZES: &[&str] = &["v", "z", "y", "p", "s", "a", "x", "h", "f", "e", "n", "k", "j", "m", "512"];
/// Kinds of implicit memory, numbered from 1 on.
const IMPLICIT: &[&str] = &[
    "push", "pop", "pushfar", "popfar", "pusha", "popa", "leave", "iret", "push2", "pop2", "xlat", "maskmov",
    "maskmov8", "clzero", "dst64",
];
const STATUS: u32 = 0x8d5;
const ALL_FLAGS: u32 = 0x3f_7fd5;
const AUXILIARY: u32 = 1 << 4;
/// Those that user code sets when it writes them: not interrupt and I/O privilege, nor virtual-8086 mode and resume.
const USERS_FLAGS: u32 = STATUS | 1 << 8 | 1 << 10 | 1 << 14 | 1 << 18 | 1 << 21;

/// The tables.
#[derive(Default)]
pub(crate) struct Semantics {
    pub(crate) forms: Vec<[u8; 6]>,
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
    for space in 0..SPACES.len() {
        let row = std::array::from_fn(|high| {
            let page = std::array::from_fn(|low| at.get(&(space, (high * 16 + low) as u8)).copied().unwrap_or(0));
            intern(&mut out.pages, page) as u8
        });
        out.rows.push(row);
    }
    Ok(out)
}

fn encode(form: &Form, out: &mut Semantics) -> Result<[u8; 6], String> {
    let mut operands = [0; 4];
    let mut used = 0;
    for operand in &form.operands {
        if let Some(code) = operand_code(operand) {
            *operands.get_mut(used).ok_or("more than four operands")? = code;
            used += 1;
        }
    }
    let memory = form
        .operands
        .iter()
        .find(|o| ["E", "M", "MV", "MS", "Q", "W", "KE", "BE", "O", "X", "Y"].contains(&o.place.as_str()));
    let memory = memory.map_or(Ok(0), |operand| size(operand).map(|size| (operand.access as u16) << 8 | size))?;
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
    let implicit = [number(&mut out.sets, reads | more_reads)?, number(&mut out.sets, writes | more_writes)?];
    Ok([
        number(&mut out.operands, operands)?,
        number(&mut out.memories, [memory, scale(form)])?,
        number(&mut out.implicit, implicit)?,
        number(&mut out.flags, flags(form))?,
        IMPLICIT.iter().position(|i| form.has(i)).map_or(0, |i| i as u8 + 1),
        number(&mut out.attributes, attributes(form))?,
    ])
}

fn operand_code(operand: &Operand) -> Option<u16> {
    let byte = u16::from(operand.size == "b" || operand.place == "al");
    let place = PLACES.iter().position(|p| *p == operand.place).map(|p| p as u16);
    let fixed = FIXED.iter().find(|(name, _)| *name == operand.place).map(|(_, number)| 0x80 | number);
    // Of the operand size, where that is 2, the rest of a register is kept.
    let sized = u16::from(["v", "w", "z", ""].contains(&operand.size.as_str()));
    Some(place.or(fixed)? | byte << 8 | (operand.access as u16) << 9 | sized << 11)
}

fn size(operand: &Operand) -> Result<u16, String> {
    let fixed = [("b", 1), ("w", 2), ("d", 4), ("q", 8), ("t", 10), ("o", 16), ("u", 32), ("c", 64), ("", 0)];
    if let Some((_, bytes)) = fixed.iter().find(|(letter, _)| *letter == operand.size) {
        return Ok(*bytes);
    }
    if let Some(kind) = SIZES.iter().position(|s| *s == operand.size) {
        return Ok(0x80 + kind as u16);
    }
    operand.size.parse().ok().filter(|n| *n < 0x80).ok_or_else(|| format!("unknown size {}", operand.size))
}

/// Bytes of a broadcast element, and in the high byte disp8's scale where it is not the size of memory.
fn scale(form: &Form) -> u16 {
    let element = [("bw", 2), ("bd", 4), ("bq", 8)].iter().find(|(a, _)| form.has(a)).map_or(0, |(_, n)| *n);
    let fixed = form.attrs.iter().find_map(|a| a.strip_prefix('n')?.parse::<u16>().ok()).unwrap_or(0);
    if form.is_evex() { element | fixed << 8 } else { 0 }
}

fn registers(names: &str) -> Result<u128, String> {
    let range = |from: u32, count: u32| ((1u128 << count) - 1) << from;
    let mut set = 0;
    for name in names.split(',') {
        let general = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"];
        let single = [
            ("es", 88),
            ("cs", 89),
            ("ss", 90),
            ("ds", 91),
            ("fs", 92),
            ("gs", 93),
            ("rip", 94),
            ("flags", 95),
            ("mxcsr", 96),
            ("ssp", 97),
            ("x87", 98),
            ("pkru", 99),
            ("xcr0", 100),
            ("fs_base", 101),
            ("gs_base", 102),
            ("system", 103),
            ("tilecfg", 112),
            ("bsr0", 113),
        ];
        let fxstate = range(32, 16) | range(72, 8) | 1 << 96 | 1 << 98;
        set |= if let Some(n) = general.iter().position(|g| *g == name) {
            1 << n
        } else if let Some((_, n)) = single.iter().find(|(s, _)| *s == name) {
            1 << n
        } else if let Some(n) = name.strip_prefix("xmm").and_then(|n| n.parse::<u32>().ok()) {
            1 << (32 + n)
        } else if let Some(n) = name.strip_prefix('r').and_then(|n| n.parse::<u32>().ok()) {
            1 << n
        } else {
            match name {
                "mm" => range(72, 8),
                "tiles" => range(104, 8),
                "vec16" => range(32, 16),
                "vec8" => range(32, 8),
                "fxstate" => fxstate,
                "state" => fxstate | range(32, 40) | range(80, 4) | range(104, 10) | 1 << 97 | 1 << 99,
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
    let mut bits = 0;
    for (i, attr) in ["cc", "rep", "d64", "f64", "", "k", "kk", "quad", "nf", "scc"].iter().enumerate() {
        if form.has(attr) {
            bits |= 1 << i;
        }
    }
    if form.has("keep") {
        bits = (bits & !(1 << 6)) | 1 << 5;
    }
    if form.cond("nf1") {
        bits &= !(1 << 8);
    }
    let general = ["E", "G", "Z", "B", "R", "X", "Y", "O", "al", "rax"];
    let mut sized = form.operands.iter().filter(|o| general.contains(&o.place.as_str())).peekable();
    let byte = sized.peek().is_some() && sized.all(|o| o.size == "b" || o.place == "al");
    bits |= u32::from(byte) << 4;
    let vector = ["V", "H", "W", "U", "MV"].iter().any(|p| form.uses(p));
    bits |= u32::from(form.is_evex() && vector) << 10;
    let first = form.operands.first().map_or("", |o| &o.place);
    bits |= u32::from(matches!(first, "V" | "W" | "H" | "U") && !form.has("sel")) << 11;
    bits |= u32::from(form.rm_operand().is_some_and(|o| matches!(o.place.as_str(), "W" | "U"))) << 12;
    for (bit, attr) in [(13, "pair"), (14, "image"), (15, "count"), (16, "part"), (17, "nothing"), (19, "partr")] {
        bits |= u32::from(form.has(attr)) << bit;
    }
    bits |= u32::from(form.cond("nd1") || form.cond("zu")) << 18;
    bits
}
