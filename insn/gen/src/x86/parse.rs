//! Reads opcodes.txt into forms; its grammar stands at the head of that file.

use super::codes::{access, space};
use crate::alternatives::alternatives;
use std::collections::BTreeMap;

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    None = access::NONE as isize,
    Read = access::READ as isize,
    Write = access::WRITE as isize,
    ReadWrite = access::READ_WRITE as isize,
}

/// One operand of a form.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub access: Use,
    /// The letters that say where it is, or the register's name.
    pub place: String,
    /// The size's letter or number; empty where none is given.
    pub size: String,
}

/// One opcode form.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub line: usize,
    /// One of [`space`].
    pub space: usize,
    /// Conditions as written: prefixes, W, L, modes, vendors.
    pub cond: Vec<String>,
    pub opcode: u8,
    /// Allowed values of modrm.reg and, with mod = 3, of modrm.rm, as bits.
    pub ext: Option<u8>,
    pub rm: Option<u8>,
    pub mnemonic: String,
    pub operands: Vec<Operand>,
    pub attrs: Vec<String>,
}

impl Form {
    pub(crate) fn has(&self, attr: &str) -> bool {
        self.attrs.iter().any(|a| a == attr)
    }
    pub(crate) fn cond(&self, cond: &str) -> bool {
        self.cond.iter().any(|c| c == cond)
    }
    pub(crate) fn is_vex(&self) -> bool {
        (space::VEX..space::EVEX).contains(&(self.space as u8))
    }
    pub(crate) fn is_evex(&self) -> bool {
        (space::EVEX..space::REX2).contains(&(self.space as u8))
    }
    /// The operand that modrm.rm names.
    pub(crate) fn rm_operand(&self) -> Option<&Operand> {
        self.operands.iter().find(|o| RM_PLACES.contains(&o.place.as_str()))
    }
    /// Whether the form shows that its opcode has a modrm byte.
    pub(crate) fn has_modrm(&self) -> bool {
        let places = ["G", "V", "P", "S", "C", "D", "KG", "TG", "BG"];
        self.ext.is_some()
            || self.rm_operand().is_some()
            || self.operands.iter().any(|o| places.contains(&o.place.as_str()))
    }
    pub(crate) fn uses(&self, place: &str) -> bool {
        self.operands.iter().any(|o| o.place == place)
    }
}

/// Places that modrm.rm names.
pub(crate) const RM_PLACES: &[&str] = &["E", "M", "MV", "MS", "N", "Q", "R", "U", "W", "KR", "KE", "TR", "BE"];
const PLACES: &[&str] = &[
    "MV", "MS", "KG", "KH", "KR", "KE", "TG", "TR", "TH", "BG", "BE", "A", "B", "C", "D", "E", "G", "H", "I", "J", "L",
    "M", "N", "O", "P", "Q", "R", "S", "U", "V", "W", "X", "Y", "Z",
];

/// Parses the whole file.
pub(crate) fn parse(text: &str) -> Result<Vec<Form>, String> {
    let mut forms = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        for text in alternatives(line).map_err(|e| format!("line {}: {e}", number + 1))? {
            parse_line(&text, number + 1, &mut forms).map_err(|e| format!("line {}: {e}: {text}", number + 1))?;
        }
    }
    Ok(forms)
}

fn values(text: &str) -> Result<u8, String> {
    let mut bits = 0;
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u8, u8) =
            (low.parse().map_err(|_| "bad extension")?, high.parse().map_err(|_| "bad extension")?);
        for v in low..=high {
            bits |= 1u8.checked_shl(v.into()).ok_or("extension above 7")?;
        }
    }
    Ok(bits)
}

fn parse_line(text: &str, line: usize, forms: &mut Vec<Form>) -> Result<(), String> {
    let mut words = text.split_whitespace();
    let mut head = words.next().ok_or("no space")?.split('.');
    let name = head.next().unwrap_or("");
    let space =
        space::NAMES.iter().find(|(text, _)| *text == name).ok_or_else(|| format!("unknown space {name}"))?.1.into();
    let cond: Vec<String> = head.map(str::to_owned).collect();
    let opcode = words.next().ok_or("no opcode")?;
    let mnemonic = words.next().ok_or("no mnemonic")?.to_owned();
    let (opcode, ext) = opcode.split_once('/').map_or((opcode, None), |(o, e)| (o, Some(e)));
    let (opcode, count) = match opcode.split_once('+') {
        Some((o, "r")) => (o, 8),
        Some((o, "c")) => (o, 16),
        Some(_) => return Err("bad opcode range".into()),
        None => (opcode, 1),
    };
    let opcode = u8::from_str_radix(opcode, 16).map_err(|_| "bad opcode")?;
    let (ext, rm) = match ext {
        None => (None, None),
        Some(e) => match e.split_once(':') {
            Some((e, rm)) => (Some(values(e)?), Some(values(rm)?)),
            None => (Some(values(e)?), None),
        },
    };
    let mut rest: Vec<String> = words.map(str::to_owned).collect();
    let operands = match rest.first() {
        Some(w) if is_operands(w) => parse_operands(&rest.remove(0))?,
        _ => Vec::new(),
    };
    for attr in &rest {
        check_attr(attr)?;
    }
    for i in 0..count {
        forms.push(Form {
            line,
            space,
            cond: cond.clone(),
            opcode: opcode + i,
            ext,
            rm,
            mnemonic: mnemonic.clone(),
            operands: operands.clone(),
            attrs: rest.clone(),
        });
    }
    Ok(())
}

const REGISTERS: &[&str] = &["al", "rax", "rcx", "rdx", "rbx", "es", "cs", "ss", "ds", "fs", "gs", "xmm0", "1"];

fn is_operands(word: &str) -> bool {
    let first = word.split(',').next().unwrap_or("");
    let bare = first.trim_start_matches(['&', '<', '>', '!']);
    first.len() != bare.len()
        || REGISTERS.contains(&bare)
        || (!word.contains([':', '=']) && bare.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn parse_operands(word: &str) -> Result<Vec<Operand>, String> {
    let mut all = Vec::new();
    for (i, text) in word.split(',').enumerate() {
        let (access, text) = match text.chars().next() {
            Some('&') => (Use::ReadWrite, &text[1..]),
            Some('<') => (Use::Read, &text[1..]),
            Some('>') => (Use::Write, &text[1..]),
            Some('!') => (Use::None, &text[1..]),
            _ if i == 0 => (Use::Write, text),
            _ => (Use::Read, text),
        };
        if REGISTERS.contains(&text) {
            all.push(Operand { access, place: text.to_owned(), size: String::new() });
            continue;
        }
        let place = PLACES.iter().find(|p| text.starts_with(**p)).ok_or_else(|| format!("unknown operand {text}"))?;
        all.push(Operand { access, place: (*place).to_owned(), size: text[place.len()..].to_owned() });
    }
    Ok(all)
}

const ATTRIBUTES: &[&str] = &[
    "arith", "logic", "eflags", "cc", "fp", "fpu", "push", "pop", "pushfar", "popfar", "pusha", "popa", "leave",
    "iret", "push2", "pop2", "xlat", "maskmov", "maskmov8", "rep", "clzero", "dst64", "jump", "jcc", "call", "ret",
    "syscall", "int", "trap", "far", "tsx", "priv", "ud", "lock", "lockreg", "d64", "f64", "anymod", "k", "kk", "bw",
    "bd", "bq", "er", "sae", "nf", "nd", "zu", "scc", "inv", "reg", "same", "quad", "pair", "sel", "keep", "low",
    "image", "count", "part", "partr", "nothing",
];

fn check_attr(attr: &str) -> Result<(), String> {
    let flags = attr.strip_prefix("r:").or(attr.strip_prefix("w:")).or(attr.strip_prefix("u:"));
    if let Some(flags) = flags {
        return flags.chars().all(|c| "oszapcditnlRvCVFI*".contains(c)).then_some(()).ok_or("bad flags".into());
    }
    let number = attr.strip_prefix('n').is_some_and(|n| n.parse::<u8>().is_ok());
    if number
        || attr.starts_with("+r=")
        || attr.starts_with("+w=")
        || attr.starts_with("+rw=")
        || ATTRIBUTES.contains(&attr)
    {
        return Ok(());
    }
    Err(format!("unknown attribute {attr}"))
}

/// Forms by space and opcode, in file order.
pub(crate) fn slots(forms: &[Form]) -> BTreeMap<(usize, u8), Vec<usize>> {
    let mut map: BTreeMap<(usize, u8), Vec<usize>> = BTreeMap::new();
    for (i, form) in forms.iter().enumerate() {
        map.entry((form.space, form.opcode)).or_default().push(i);
    }
    map
}
