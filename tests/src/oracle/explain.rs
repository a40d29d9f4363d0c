//! The list of what the decoder accepts and a processor may refuse, by feature.

use std::fmt;

use insn::x86::{Encoding, Insn, Mode, Prefixes, Reg, decode};

use super::cpu::{family, has_feature};

/// What distinguishes instructions for the list: how the opcode is introduced, its map, the prefix that selects, the opcode, and the modrm byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    space: &'static str,
    map: u8,
    selector: &'static str,
    opcode: u8,
    w: bool,
    /// modrm.reg, or 8 where there is no modrm.
    reg: u8,
    /// modrm.rm where mod is 3; 8 for memory and where there is no modrm.
    rm: u8,
    /// EVEX names one of APX's registers.
    apx: bool,
    /// EVEX asks for zeroing without a mask.
    z: bool,
    /// The strict modes refuse it.
    lax: bool,
}

impl Class {
    /// The class of an instruction.
    pub fn of(insn: &Insn) -> Class {
        let space = match insn.encoding() {
            Encoding::Legacy => "legacy",
            Encoding::Rex2 => "rex2",
            Encoding::Vex => "vex",
            Encoding::Xop => "xop",
            Encoding::Evex => "evex",
            _ => "other",
        };
        let modrm = insn.modrm();
        Class {
            space,
            map: insn.map() as u8,
            selector: selector(insn),
            opcode: insn.opcode(),
            w: insn.w(),
            reg: modrm.map_or(8, |modrm| modrm >> 3 & 7),
            rm: modrm.map_or(8, |modrm| if modrm >= 0xc0 { modrm & 7 } else { 8 }),
            apx: uses_apx(insn),
            z: zeroes_without_mask(insn),
            lax: decode(insn.bytes(), Mode { lenient: false, ..insn.mode() }).is_err(),
        }
    }
}

/// A register that only APX has, or a bit of EVEX that names one.
fn uses_apx(insn: &Insn) -> bool {
    let named = insn.reads().union(insn.writes());
    let payload = insn.opcode_offset().checked_sub(3).and_then(|at| insn.bytes().get(at..at + 2));
    let bits = matches!(payload, Some([p0, p1]) if p0 & 8 != 0 || p1 & 4 == 0);
    insn.encoding() == Encoding::Evex && (bits || (16..32).any(|number| named.contains(Reg::gpr(number))))
}

fn zeroes_without_mask(insn: &Insn) -> bool {
    let p2 = insn.opcode_offset().checked_sub(1).and_then(|at| insn.bytes().get(at));
    insn.encoding() == Encoding::Evex && p2.is_some_and(|p2| p2 & 0x87 == 0x80)
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = u8::from(self.w);
        let apx = if self.apx { " apx" } else { "" };
        let z = if self.z { " z" } else { "" };
        let lax = if self.lax { " lax" } else { "" };
        write!(f, "{} {} {} {:02x} w{w}{apx}{z}{lax}", self.space, self.map, self.selector, self.opcode)?;
        match (self.reg, self.rm) {
            (8, _) => Ok(()),
            (reg, 8) => write!(f, " /{reg} m"),
            (reg, rm) => write!(f, " /{reg} r{rm}"),
        }
    }
}

/// The prefix that selects among the forms of an opcode: the last F2 or F3, else 66, or pp where the encoding has it.
fn selector(insn: &Insn) -> &'static str {
    let back =
        |distance| insn.opcode_offset().checked_sub(distance).and_then(|at| insn.bytes().get(at)).map(|byte| byte & 3);
    let pp = match insn.encoding() {
        Encoding::Vex | Encoding::Xop => back(1),
        Encoding::Evex => back(2),
        _ => None,
    };
    // Of F2 and F3 the last one before the opcode counts.
    let before = insn.bytes().get(..insn.opcode_offset()).unwrap_or_default();
    let repeat = before.iter().rev().find(|byte| matches!(byte, 0xf2 | 0xf3));
    match (pp, repeat) {
        (Some(0), _) => "np",
        (Some(1), _) => "66",
        (Some(2), _) | (None, Some(0xf3)) => "f3",
        (Some(_), _) | (None, Some(_)) => "f2",
        (None, None) if insn.prefixes().has(Prefixes::OPERAND_SIZE) => "66",
        (None, None) => "np",
    }
}

#[derive(Debug)]
struct Row {
    space: String,
    map: Option<u8>,
    selector: Option<String>,
    opcodes: (u8, u8),
    conditions: Vec<Condition>,
    /// #UD is right for this processor.
    holds: bool,
}

#[derive(Debug)]
enum Condition {
    W(bool),
    Reg(u8),
    Rm(u8),
    Register,
    Memory,
    Apx,
    Z,
    Lax,
}

/// The checked-in list, read for this processor.
#[derive(Debug)]
pub struct Explanations(Vec<Row>);

impl Explanations {
    /// Reads the list; its head explains its form.
    ///
    /// # Errors
    /// The line that is not understood, and why.
    pub fn read(text: &str) -> Result<Explanations, String> {
        let mut rows = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                rows.push(row(line).map_err(|what| format!("line {}: {what}", number + 1))?);
            }
        }
        Ok(Explanations(rows))
    }

    /// Whether a row says that this processor refuses the class.
    pub fn explain(&self, class: &Class) -> bool {
        self.0.iter().any(|row| row.holds && row.matches(class))
    }
}

impl Row {
    fn matches(&self, class: &Class) -> bool {
        self.space == class.space
            && self.map.is_none_or(|map| map == class.map)
            && self.selector.as_deref().is_none_or(|selector| selector == class.selector)
            && (self.opcodes.0..=self.opcodes.1).contains(&class.opcode)
            && self.conditions.iter().all(|condition| match *condition {
                Condition::W(w) => class.w == w,
                Condition::Reg(reg) => class.reg == reg,
                Condition::Rm(rm) => class.rm == rm,
                Condition::Register => class.rm < 8,
                Condition::Memory => class.reg < 8 && class.rm == 8,
                Condition::Apx => class.apx,
                Condition::Z => class.z,
                Condition::Lax => class.lax,
            })
    }
}

fn row(line: &str) -> Result<Row, String> {
    let (pattern, feature) = line.split_once(':').ok_or("no colon before the feature")?;
    let mut words = pattern.split_whitespace();
    let mut next = |what: &str| words.next().ok_or(format!("no {what}"));
    let space = next("encoding")?.to_owned();
    let map = match next("map")? {
        "*" => None,
        map => Some(map.parse().map_err(|_| format!("no map: {map}"))?),
    };
    let selector = Some(next("prefix")?.to_owned()).filter(|selector| selector != "*");
    let opcodes = match next("opcode")? {
        "*" => (0, 0xff),
        range => {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            (byte(first)?, byte(last)?)
        }
    };
    let conditions = words.map(condition).collect::<Result<_, _>>()?;
    Ok(Row { space, map, selector, opcodes, conditions, holds: is_refused(feature.trim())? })
}

/// The family of AMD's Zen 1 and Zen 2.
const ZEN1: u32 = 0x17;
/// The family of AMD's Zen 5.
const ZEN5: u32 = 0x1a;

/// `NAME`: the processor lacks it; `always`: no processor in this mode and vendor has it in user mode; `amd`, `intel`: that vendor refuses it;
/// `zen5`: that and AMD's later ones do; `zen1`: AMD's of its family do.
fn is_refused(feature: &str) -> Result<bool, String> {
    match feature {
        "always" => Ok(true),
        "amd" => Ok(super::vendor() == insn::x86::Vendor::Amd),
        "intel" => Ok(super::vendor() == insn::x86::Vendor::Intel),
        "zen1" => Ok(super::vendor() == insn::x86::Vendor::Amd && family() == ZEN1),
        "zen5" => Ok(super::vendor() == insn::x86::Vendor::Amd && family() >= ZEN5),
        name => has_feature(name).map(|has| !has).ok_or(format!("no feature is called {name}")),
    }
}

fn condition(word: &str) -> Result<Condition, String> {
    match word {
        "w0" => Ok(Condition::W(false)),
        "w1" => Ok(Condition::W(true)),
        "r" => Ok(Condition::Register),
        "m" => Ok(Condition::Memory),
        "apx" => Ok(Condition::Apx),
        "z" => Ok(Condition::Z),
        "lax" => Ok(Condition::Lax),
        _ => match (word.strip_prefix('/').map(str::parse), word.strip_prefix('r').map(str::parse)) {
            (Some(Ok(reg)), _) => Ok(Condition::Reg(reg)),
            (_, Some(Ok(rm))) => Ok(Condition::Rm(rm)),
            _ => Err(format!("no condition: {word}")),
        },
    }
}

fn byte(text: &str) -> Result<u8, String> {
    u8::from_str_radix(text, 16).map_err(|_| format!("no opcode: {text}"))
}
