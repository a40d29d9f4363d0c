//! The table of operands, in the manual's order.

#[path = "../../../src/x86/operand_codes.rs"]
mod operand_codes;

use super::by_rule::ByRule;
use super::codes::{bank, size, space};
use super::parse::{Form, Operand};
use crate::write::{array, head, row};
use operand_codes::{ACCESS, BYTE, EXTENSION, GROUP, IMPLICIT, MOST, ROUNDS, SIGNED, SIZE, place};
use std::collections::BTreeMap;

/// Fixed registers, and their numbers in a register set.
const FIXED: [(&str, u8); 12] = [
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

fn is_in(form: &Form, space: u8, opcodes: &[u8]) -> bool {
    form.space == usize::from(space) && opcodes.contains(&form.opcode)
}

/// Whether no assembler writes a fixed register or a string's element of the form.
fn is_implicit(form: &Form) -> bool {
    const ONE_BYTE: [u8; 23] = [
        0x27, 0x2f, 0x37, 0x3f, 0x98, 0x99, 0xd4, 0xd5, 0xd6, 0xe0, 0xe1, 0xe2, 0xe3, 0x6c, 0x6d, 0x6e, 0x6f, 0xa4,
        0xa5, 0xa6, 0xa7, 0xaa, 0xab,
    ];
    is_in(form, space::ONE_BYTE, &ONE_BYTE)
        || is_in(form, space::ONE_BYTE, &[0xac, 0xad, 0xae, 0xaf])
        || is_in(form, space::M0F38, &[0x10, 0x14, 0x15, 0xcb])
        || matches!(form.mnemonic.as_str(), "psmash" | "pvalidate")
}

/// The code of a fixed register's size.
fn fixed_size(form: &Form, register: &str) -> u8 {
    let is_shift = |form: &Form| {
        matches!(form.opcode, 0xd2 | 0xd3) || form.space != usize::from(space::ONE_BYTE) && form.has("count")
    };
    match register {
        "al" => 1,
        "xmm0" => 16,
        "rcx" if is_shift(form) => 1,
        "rcx" if form.mnemonic == "invlpga" => 4,
        "rcx" => operand_codes::size::ADDRESS,
        "rdx" if is_in(form, space::ONE_BYTE, &[0xec, 0xed, 0xee, 0xef]) => 2,
        "rax" if is_in(form, space::ONE_BYTE, &[0xe5, 0xe7, 0xed, 0xef]) => size::Z,
        "rax" if is_in(form, space::ONE_BYTE, &[0x37, 0x3f, 0xd4, 0xd5, 0xdf]) => 2,
        "rax" if form.mnemonic == "skinit" => 4,
        "rax" if matches!(form.mnemonic.as_str(), "invlpga" | "psmash" | "pvalidate") => operand_codes::size::ADDRESS,
        "rax" | "rdx" => size::V,
        _ => 2,
    }
}

/// The code of an operand's size.
fn size_of(form: &Form, operand: &Operand) -> Result<u8, String> {
    let fixed = [("b", 1), ("w", 2), ("d", 4), ("q", 8), ("t", 10), ("o", 16), ("u", 32), ("c", 64)];
    let by_letter = || {
        let (_, bytes) = fixed.iter().find(|(letter, _)| *letter == operand.size)?;
        Some(*bytes)
    };
    let by_name = || {
        let (_, code) = size::NAMES.iter().find(|(name, _)| *name == operand.size)?;
        Some(*code)
    };
    let name = form.mnemonic.as_str();
    let is_half = matches!(form.opcode, 0x91 | 0x93 | 0xa1 | 0xa3) && form.cond("w0") && form.uses("MV");
    Ok(match operand.place.as_str() {
        "R" | "G" if name.starts_with("bnd") || operand.size == "q" => operand_codes::size::LONG,
        "R" | "G" if name.starts_with("encodekey") => 4,
        "G" if form.has("dst64") => operand_codes::size::ADDRESS,
        "G" if form.has("f64") && operand.size == "y" => operand_codes::size::LONG,
        "R" if name == "umonitor" => operand_codes::size::ADDRESS,
        "V" | "H" if is_half => size::H,
        "U" if matches!(name, "vsha512msg1" | "vsha512rnds2") => 16,
        "L" if form.operands.first().is_some_and(|first| first.size == "o") => 16,
        "C" | "D" => operand_codes::size::LONG,
        "KG" | "KH" | "KR" | "P" | "N" => 8,
        "BG" => 16,
        "TG" | "TR" | "TH" => 0,
        "S" => 2,
        "L" => size::X,
        // `bswap`, `kmov` and their like.
        "R" | "G" if operand.size.is_empty() => size::Y,
        place if FIXED.iter().any(|(name, _)| *name == place) => fixed_size(form, place),
        _ if operand.size.is_empty() => 0,
        _ => by_letter()
            .or_else(by_name)
            .or_else(|| operand.size.parse().ok().filter(|bytes| *bytes < size::FIRST))
            .ok_or_else(|| format!("unknown size {}", operand.size))?,
    })
}

/// Whether the immediate is extended with its sign to the operand size.
fn is_signed(form: &Form, operand: &Operand) -> bool {
    let by_space = [space::ONE_BYTE, space::EVEX_MAP4].contains(&(form.space as u8));
    let wide = form.operands.iter().any(|o| o.size == "v" || o.place == "rax");
    let pushed = is_in(form, space::ONE_BYTE, &[0x68, 0x6a]);
    let unsigned = form.has("count") || is_in(form, space::ONE_BYTE, &[0xe5, 0xe7, 0xd4, 0xd5]);
    by_space && matches!(operand.size.as_str(), "b" | "z") && (wide || pushed) && !unsigned
}

fn code(form: &Form, number: usize, operand: &Operand) -> Result<u32, String> {
    let earlier = form.operands.iter().take(number).any(|o| o.place == "I");
    let fixed = FIXED.iter().find(|(name, _)| *name == operand.place);
    let place = match operand.place.as_str() {
        "I" if earlier => place::IMMEDIATE_2,
        "I" => place::IMMEDIATE,
        "J" => place::RELATIVE,
        "A" => place::FAR,
        "1" => place::ONE,
        _ if fixed.is_some() => place::FIXED | fixed.map_or(0, |(_, number)| *number),
        letters => {
            let (_, code) = place::NAMES.iter().find(|(name, _)| *name == letters).ok_or("unknown place")?;
            *code
        }
    };
    let is_string = matches!(operand.place.as_str(), "X" | "Y");
    let is_group = match operand.place.as_str() {
        "H" => form.has("quad"),
        "KG" | "TG" => form.has("pair"),
        _ => false,
    };
    let flags = [
        (GROUP, is_group),
        (BYTE, operand.size == "b"),
        (IMPLICIT, is_implicit(form) && (fixed.is_some() || is_string)),
        (SIGNED, is_signed(form, operand)),
        (ROUNDS, form.has("er") || form.has("sae")),
    ];
    let flags = flags.iter().filter(|(_, holds)| *holds).fold(0, |bits, (bit, _)| bits | bit);
    let size = match operand.place.as_str() {
        "I" | "J" | "A" | "1" => 0,
        _ => size_of(form, operand)?,
    };
    Ok(u32::from(place) | u32::from(size) << SIZE | (operand.access as u32) << ACCESS | flags)
}

fn codes(form: &Form) -> Result<[u32; MOST], String> {
    let mut codes = [0; MOST];
    for (number, operand) in form.operands.iter().enumerate() {
        *codes.get_mut(number).ok_or("too many operands")? = code(form, number, operand)?;
    }
    if form.mnemonic.starts_with("vpermil2p") {
        codes[form.operands.len()] = u32::from(place::IMMEDIATE_LOW) | 1 << ACCESS;
    }
    if form.space == usize::from(space::ONE_BYTE) && (0xd8..=0xdf).contains(&form.opcode) && form.operands.is_empty() {
        codes[0] = place::X87.into();
    }
    if form.ext.is_some() || form.mnemonic.starts_with("reg=") || form.mnemonic.starts_with("rm=") {
        codes[0] |= EXTENSION;
    }
    Ok(codes)
}

/// The text of the table; `rules` names the form of every rule of every opcode, in order.
pub(crate) fn tables(forms: &[Form], rules: &BTreeMap<(usize, u8), Vec<usize>>) -> Result<String, String> {
    let mut all = vec![[0; MOST]];
    let mut by_rule = ByRule::default();
    for (slot, list) in rules {
        let mut numbers = Vec::new();
        for form in list.iter().map(|i| &forms[*i]) {
            let codes = codes(form).map_err(|e| format!("line {}: {e}", form.line))?;
            let number = all.iter().position(|other| *other == codes).unwrap_or_else(|| {
                all.push(codes);
                all.len() - 1
            });
            numbers.push(number as u16);
        }
        by_rule.add(*slot, numbers);
    }
    let mut out = head("opcodes.txt");
    by_rule.emit(&mut out, "Numbers of operands, one per rule of an opcode.");
    array(&mut out, "Operands (see `operand_codes`).", "OPERANDS", "[u32; 5]", &all, 4, |codes| row(codes));
    Ok(out)
}
