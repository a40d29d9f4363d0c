//! Operands of A64 as texts that can be compared: ours, and those of llvm-mc, without differences of style.
//!
//! Style is: 0 as an offset or a shift, which may be left out; w and x in an address; the size of the elements of vectors in an address;
//! braces around a single part of ZA; a list as a range; a shifted immediate of SVE as one number; numbers as names.

use insn::Access;
use insn::arm64::{
    Address, Array, Direction, Extend, Insn, Memory, OperandKind, Predication, Reg, Register, Shift, View, Writeback,
};

const CONDITIONS: [&str; 16] =
    ["eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"];
/// A system register or a field of PSTATE that has a name.
const NAMED: &str = "a name";
/// Names of numbers: patterns of SVE, domains of barriers, and others that have one meaning everywhere.
const NAMES: [(&str, i64); 44] = [
    ("pow2", 0),
    ("vl1", 1),
    ("vl2", 2),
    ("vl3", 3),
    ("vl4", 4),
    ("vl5", 5),
    ("vl6", 6),
    ("vl7", 7),
    ("vl8", 8),
    ("vl16", 9),
    ("vl32", 10),
    ("vl64", 11),
    ("vl128", 12),
    ("vl256", 13),
    ("mul4", 29),
    ("mul3", 30),
    ("all", 31),
    ("vlx2", 2),
    ("vlx4", 4),
    ("oshld", 1),
    ("oshst", 2),
    ("osh", 3),
    ("nshld", 5),
    ("nshst", 6),
    ("nsh", 7),
    ("ishld", 9),
    ("ishst", 10),
    ("ish", 11),
    ("ld", 13),
    ("st", 14),
    ("sy", 15),
    ("oshnxs", 2),
    ("nshnxs", 6),
    ("ishnxs", 10),
    ("synxs", 14),
    ("nb", 1),
    ("ir", 24),
    ("pldkeep", 0),
    ("pstkeep", 1),
    ("pldstrm", 4),
    ("pststrm", 5),
    ("c", 1),
    ("j", 2),
    ("jc", 3),
];

fn element(size: u8) -> &'static str {
    match size {
        1 => ".b",
        2 => ".h",
        4 => ".s",
        8 => ".d",
        16 => ".q",
        _ => "",
    }
}

fn register(register: Register) -> String {
    let Register { reg, view, index, predication, .. } = register;
    let name = match (view, reg) {
        (View::Scalar(4), Reg::XZR) => "wzr".to_owned(),
        (View::Scalar(4), Reg::SP) => "wsp".to_owned(),
        (_, Reg::XZR | Reg::SP | Reg::ZT0) => reg.to_string(),
        (View::Scalar(size), _) => match (reg.as_general(), reg.as_vector()) {
            (Some(n), _) => format!("{}{n}", if size == 4 { 'w' } else { 'x' }),
            (_, Some(n)) => format!("{}{n}", &element(size)[1..]),
            _ => reg.to_string(),
        },
        (View::Vector { lanes, size }, _) => {
            let lanes = if lanes == 0 { String::new() } else { lanes.to_string() };
            let dot = element(size).replace('.', &format!(".{lanes}"));
            format!("v{}{dot}", reg.as_vector().unwrap_or(99))
        }
        (View::Counter(size), _) => format!("pn{}{}", reg.number() - 64, element(size)),
        (View::Scalable(size), _) => format!("{reg}{}", element(size)),
        _ => "?".to_owned(),
    };
    let mode = match predication {
        Some(Predication::Zeroing) => "/z",
        Some(Predication::Merging) => "/m",
        None => "",
    };
    name + mode + &index.map_or(String::new(), |index| format!("[{index}]"))
}

fn list(first: Register, count: u8, stride: u8) -> String {
    let (n, is_vector) = (first.reg.number(), first.reg.as_vector().is_some());
    let each = (0..count).map(|i| {
        let number = u32::from(n) + u32::from(i) * u32::from(stride);
        let reg = if is_vector { Reg::vector(number) } else { Reg::predicate(number) };
        let mut other = first;
        (other.reg, other.index) = (reg, None);
        register(other)
    });
    let index = first.index.map_or(String::new(), |index| format!("[{index}]"));
    format!("{{{}}}{index}", each.collect::<Vec<_>>().join(" "))
}

fn memory(memory: Memory, vectors: i64) -> String {
    let base = match memory.base {
        Address::Pc => return format!("#{}", memory.displacement),
        Address::Register(reg) | Address::Elements(reg) => reg.to_string(),
        _ => "?".to_owned(),
    };
    let mut parts = vec![base];
    let units = if memory.by_vector_length { vectors } else { 1 };
    let displacement = memory.displacement * units;
    let offset = match memory.index {
        Some(index) => index.to_string(),
        None if displacement == 0 => String::new(),
        None => format!("#{displacement}"),
    };
    if memory.writeback == Some(Writeback::Post) {
        return format!("[{}]{}", parts[0], if offset.is_empty() { "#0" } else { &offset });
    }
    if !offset.is_empty() {
        parts.push(offset);
    }
    match (memory.extend, memory.shift) {
        (Extend::None, 0) => {}
        (Extend::None, shift) => parts.push(format!("lsl{shift}")),
        (Extend::Uxtw, shift) => parts.push(format!("uxtw{shift}")),
        (_, shift) => parts.push(format!("sxtw{shift}")),
    }
    let mark = if memory.writeback == Some(Writeback::Pre) { "!" } else { "" };
    format!("[{}]{mark}", parts.join(" "))
}

fn array(array: Array) -> String {
    let direction = match array.direction {
        Some(Direction::Horizontal) => "h",
        Some(Direction::Vertical) => "v",
        None => "",
    };
    let tile = array.tile.map_or(String::new(), |tile| tile.to_string());
    let slices = array.slices.map_or(String::new(), |slices| {
        let index = slices.index.to_string().replace('x', "w");
        let last = slices.offset + slices.count - 1;
        let range = if slices.count == 1 { String::new() } else { format!(":{last}") };
        let groups = if slices.groups == 0 { String::new() } else { format!(" vgx{}", slices.groups) };
        format!("[{index} {}{range}{groups}]", slices.offset)
    });
    format!("za{tile}{direction}{}{slices}", element(array.size))
}

/// What the assembler may write of our operands: an immediate with its shift may be one number.
pub(crate) fn ours(insn: &Insn) -> Vec<Vec<String>> {
    let operands: Vec<_> = insn.operands().filter(|operand| !operand.implicit).collect();
    let mut vectors = 1;
    let (mut apart, mut folded) = (Vec::new(), Vec::new());
    let mut last = None;
    for operand in operands {
        assert!(
            operand.access != Access::None || matches!(operand.kind, OperandKind::Memory(_)),
            "{insn:?} {operand:?}"
        );
        let text = match operand.kind {
            OperandKind::Register(one) => register(one),
            // The assembler writes the first of eight.
            OperandKind::Registers { first, .. } if first.reg.as_general().is_some() => register(first),
            OperandKind::Registers { first, count, stride } => {
                vectors = count.into();
                list(first, count, stride)
            }
            OperandKind::Element { register: one, index, offset } => {
                format!("{}[{} {offset}]", register(one), index.to_string().replace('x', "w"))
            }
            OperandKind::Array(one) => array(one),
            OperandKind::Memory(one) => memory(one, vectors),
            OperandKind::Immediate(value) | OperandKind::Label(value) => format!("#{value}"),
            OperandKind::Float(bits) => format!("f{}", f32::from_bits(bits)),
            OperandKind::Shift { kind: Shift::Lsl, amount: 0 } => String::new(),
            OperandKind::Shift { kind, amount } => format!("{}{amount}", format!("{kind:?}").to_lowercase()),
            OperandKind::Condition(condition) => CONDITIONS[usize::from(condition.code())].to_owned(),
            OperandKind::System(one) => {
                format!("S{}_{}_C{}_C{}_{}", one.op0(), one.op1(), one.crn(), one.crm(), one.op2())
            }
            OperandKind::PstateField(_) => NAMED.to_owned(),
            _ => "?".to_owned(),
        };
        match (last, operand.kind) {
            (Some(value), OperandKind::Shift { kind: Shift::Lsl, amount }) => {
                folded.pop();
                let whole: i64 = value;
                folded.push(format!("#{}", whole << amount));
            }
            // Beside the stack pointer the whole register's extension is called a shift.
            (_, OperandKind::Shift { kind: Shift::Uxtx | Shift::Uxtw, amount }) => {
                folded.extend((amount != 0).then(|| format!("lsl{amount}")));
            }
            (_, OperandKind::System(_)) => folded.push(NAMED.to_owned()),
            _ => folded.push(text.clone()),
        }
        last = if let OperandKind::Immediate(value) = operand.kind { Some(value) } else { None };
        apart.push(text);
    }
    let whole = |list: Vec<String>| list.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
    vec![whole(apart), whole(folded)]
}

/// A number behind `#`.
fn number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()? as i64,
        None => digits.parse::<u64>().ok()? as i64,
    };
    Some(value.wrapping_mul(sign))
}

/// The number that a prefetch operation is.
fn prefetch(name: &str, text: &str) -> Option<i64> {
    let is_sve = name.len() == 4 && name.starts_with("prf") && name != "prfm";
    let (what, rest) = text.split_at_checked(3)?;
    let what = ["pld", if is_sve { "pst" } else { "pli" }, "pst"].iter().position(|other| *other == what)?;
    let (level, policy) = rest.split_at_checked(if rest.starts_with("slc") { 3 } else { 2 })?;
    let level = ["l1", "l2", "l3", "slc"].iter().position(|other| *other == level)?;
    let policy = ["keep", "strm"].iter().position(|other| *other == policy)?;
    Some((what << 3 | level << 1 | policy) as i64)
}

/// The parts of an address or an index.
fn parts(name: &str, text: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let part = part.split(' ').map(|word| word.trim_start_matches('#')).collect::<Vec<_>>().join(" ");
        let shift = part.split_once(' ').map_or((part.as_str(), "0"), |(kind, amount)| (kind, amount));
        match shift {
            ("lsl" | "sxtx", "0") | ("mul", "vl") => {}
            ("lsl" | "sxtx", amount) => kept.push(format!("lsl{amount}")),
            (kind @ ("uxtw" | "sxtw"), amount) => kept.push(format!("{kind}{amount}")),
            ("wsp", _) => kept.push("sp".to_owned()),
            ("0", _) if text.contains('#') => {}
            _ => match number(&part) {
                Some(value) => kept.push(format!("#{value}")),
                None => {
                    let vector = part.split('.').next().unwrap_or_default();
                    kept.push(match vector.strip_prefix('w') {
                        Some(rest) if name != "za" => format!("x{rest}"),
                        _ => vector.to_owned(),
                    });
                }
            },
        }
    }
    kept.join(" ")
}

fn one(name: &str, text: &str) -> String {
    let is_copy = name.starts_with("cpy") || name.starts_with("set");
    if let Some(value) = text.strip_prefix('#') {
        return match number(value) {
            Some(value) => format!("#{value}"),
            None => format!("f{}", value.parse::<f32>().unwrap_or(f32::NAN)),
        };
    }
    let inner = text.trim_matches(['{', '}', ' ']);
    if name == "zero" && text.starts_with('{') && !inner.starts_with("zt0") {
        let tiles = inner.split(',').map(str::trim).filter(|tile| !tile.is_empty());
        let mask = tiles.fold(0, |mask, tile| {
            let step = match tile.as_bytes().last() {
                Some(b'h') => 2,
                Some(b's') => 4,
                Some(b'd') => 8,
                _ => 1,
            };
            let first = tile[2..].split('.').next().and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
            (first..8).step_by(step).fold(mask, |mask, n| mask | 1 << n)
        });
        return format!("#{mask}");
    }
    if text.starts_with('{') && !inner.starts_with("za") && !inner.starts_with("zt0") {
        let (list, index) = text.split_once('}').unwrap_or((text, ""));
        let list = list.trim_matches(['{', ' ']);
        let each: Vec<String> = match list.split_once(" - ") {
            None => list.split(',').map(|one| one.trim().to_owned()).collect(),
            Some((first, last)) => {
                let digits = |text: &str| text[1..].split('.').next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
                let (from, to) = (digits(first), digits(last));
                let rest = first.split_once('.').map_or(String::new(), |(_, size)| format!(".{size}"));
                let letter = &first[..1];
                (0..=(to + 32 - from) % 32).map(|i| format!("{letter}{}{rest}", (from + i) % 32)).collect()
            }
        };
        return format!("{{{}}}{index}", each.join(" "));
    }
    if inner.starts_with("za") || text.starts_with('p') && text.contains(',') {
        let (array, slices) = inner.split_once('[').unwrap_or((inner, ""));
        let slices = slices.trim_end_matches(']').split([',', ' ']).filter(|part| !part.is_empty());
        let slices: Vec<&str> = slices.collect();
        return if slices.is_empty() { array.to_owned() } else { format!("{array}[{}]", slices.join(" ")) };
    }
    if let Some(zt0) = inner.strip_prefix("zt0") {
        return format!("zt0{}", zt0.replace(", mul vl", ""));
    }
    if let Some(inside) = text.strip_prefix('[') {
        let (address, mark) = inside.split_once(']').unwrap_or((text, ""));
        let mark = if is_copy { "" } else { mark };
        return format!("[{}]{mark}", parts(name, address));
    }
    if let Some((kind, amount)) = text.split_once(" #") {
        return if kind == "lsl" && amount == "0" { String::new() } else { format!("{kind}{amount}") };
    }
    if ["uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"].contains(&text) {
        return format!("{text}0");
    }
    if CONDITIONS.contains(&text) {
        return text.to_owned();
    }
    if let Some(register) = text.strip_prefix('c').filter(|_| name.starts_with("sys")) {
        return format!("#{register}");
    }
    let named = NAMES.iter().find(|(other, _)| *other == text).map(|(_, value)| *value);
    match named.or_else(|| prefetch(name, text)) {
        Some(value) => format!("#{value}"),
        None if text.starts_with(|c: char| c.is_ascii_uppercase()) && !text.starts_with(['S']) => NAMED.to_owned(),
        None if text.starts_with('S') && !text.starts_with("S2_") && !text.starts_with("S3_") => NAMED.to_owned(),
        None => text.trim_end_matches('!').to_owned(),
    }
}

/// What the assembler writes, in parts.
pub(crate) fn theirs(name: &str, text: &str) -> Vec<String> {
    let (mut depth, mut all) = (0, vec![String::new()]);
    for c in text.chars() {
        depth += i32::from(matches!(c, '[' | '{')) - i32::from(matches!(c, ']' | '}'));
        match (c, all.last_mut()) {
            (',', _) if depth == 0 => all.push(String::new()),
            (_, Some(last)) => last.push(c),
            _ => {}
        }
    }
    let mut kept: Vec<String> = Vec::new();
    let all: Vec<&str> = all.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    for (index, part) in all.iter().enumerate() {
        // Behind an address without an offset stands the number that the instruction adds to the base afterwards.
        let is_post = index > 0 && all[index - 1].starts_with('[') && all[index - 1].ends_with(']');
        let is_copy = name.starts_with("cpy") || name.starts_with("set");
        let is_offset = part.starts_with('#') || part.starts_with('x');
        if let Some(last) = kept.last_mut().filter(|_| is_post && is_offset && !is_copy) {
            last.push_str(&one(name, part));
        } else {
            kept.push(one(name, part));
        }
    }
    kept.into_iter().filter(|part| !part.is_empty()).collect()
}
