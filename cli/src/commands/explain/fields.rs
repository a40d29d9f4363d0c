//! The fields of an instruction's encoding.

use insn::x86::{Bits, Encoding, Field, Insn, Map};
use serde::Serialize;

use crate::hex;

/// One field of an encoding.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) bytes: String,
    /// The value of a displacement or immediate, sign-extended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<i64>,
}

/// Returns all fields in the order of their bytes.
pub(crate) fn parts(insn: &Insn) -> Vec<Part> {
    let bytes = insn.bytes();
    let mut parts = Vec::with_capacity(6);
    let mut push = |name, offset: usize, size: usize, value| {
        let bytes = bytes.get(offset..offset + size).unwrap_or_default();
        if !bytes.is_empty() {
            parts.push(Part { name, offset, size, bytes: hex::plain(bytes), value });
        }
    };
    let opcode = insn.opcode_offset();
    let legacy = bytes.iter().take(opcode).take_while(|byte| is_legacy_prefix(**byte)).count();
    push("prefixes", 0, legacy, None);
    let introduced = match insn.encoding() {
        Encoding::Rex2 => "rex2",
        Encoding::Vex => "vex",
        Encoding::Xop => "xop",
        Encoding::Evex => "evex",
        _ => "escape",
    };
    let is_rex = |byte: &u8| insn.mode().bits == Bits::B64 && byte & 0xf0 == 0x40;
    // The processor ignores a REX prefix that another prefix follows. It is part of the field behind it.
    let rex = usize::from(introduced == "escape" && bytes.get(legacy).is_some_and(is_rex) && legacy < opcode);
    push("rex", legacy, rex, None);
    let start = legacy + rex;
    if insn.map() == Map::Amd3DNow {
        // The opcode follows the operands.
        push("escape", start, 2, None);
    } else {
        push(introduced, start, opcode.saturating_sub(start), None);
    }
    push("opcode", opcode, 1, None);
    if let Some(offset) = insn.modrm_offset() {
        push("modrm", offset, 1, None);
    }
    if let Some(offset) = insn.sib_offset() {
        push("sib", offset, 1, None);
    }
    let mut number = |name, field: Option<Field>| {
        if let Some(field) = field {
            push(name, usize::from(field.offset), usize::from(field.size), Some(field.value));
        }
    };
    number("displacement", insn.displacement());
    number("immediate", insn.immediate());
    number("immediate2", insn.immediate2());
    parts.sort_by_key(|part| part.offset);
    parts
}

fn is_legacy_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}
