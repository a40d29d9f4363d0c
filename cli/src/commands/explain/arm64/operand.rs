//! Memory operands and names of A64 in words.

use insn::Access;
use insn::arm64::{Address, Extend, Memory, Writeback};

/// Returns the name of an enum's variant in snake case: `ConditionalJump` is `conditional_jump`.
pub(super) fn name(value: impl std::fmt::Debug) -> String {
    let mut text = String::new();
    for c in format!("{value:?}").chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Returns a memory operand in words: `reads 8 bytes at [x0, x1 uxtw << 3]`.
pub(super) fn operand(memory: &Memory, pc: u64) -> String {
    let access = match memory.access {
        Access::None => "names",
        Access::Read => "reads",
        Access::Write => "writes",
        _ => "reads and writes",
    };
    let size = if memory.size == 0 { String::new() } else { format!(" {} bytes", memory.size) };
    let mut inside = match memory.base {
        Address::Register(base) => base.to_string(),
        Address::Elements(base) => format!("each of {base}"),
        _ => format!("{:#x}", pc.wrapping_add_signed(memory.displacement)),
    };
    if let Some(index) = memory.index {
        inside += &format!(", {index}");
        if memory.extend != Extend::None {
            inside += &format!(" {}", name(memory.extend));
        }
        if memory.shift != 0 {
            inside += &format!(" << {}", memory.shift);
        }
    }
    let counted = if memory.by_vector_length { " operands" } else { "" };
    let displacement = format!("{:+}{counted}", memory.displacement);
    let shown = memory.displacement != 0 && memory.base != Address::Pc;
    match memory.writeback {
        Some(Writeback::Post) => format!("{access}{size} at [{inside}], then {inside} {displacement}"),
        Some(Writeback::Pre) => format!("{access}{size} at [{inside}{displacement}], which is written back"),
        None if shown => format!("{access}{size} at [{inside}{displacement}]"),
        None => format!("{access}{size} at [{inside}]"),
    }
}
