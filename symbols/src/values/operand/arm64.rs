//! Operands of A64.

use super::place::{Memory, Place, number};

/// The stack pointer's number in debug information (DWARF for the Arm 64-bit Architecture, 4.1).
const SP: u16 = 31;

pub(super) fn place(text: &str) -> Option<Place> {
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return memory(inside).map(Place::Memory);
    }
    if let Some(constant) = number(text.strip_prefix('#').unwrap_or(text)) {
        return Some(Place::Constant(constant));
    }
    if matches!(text, "xzr" | "wzr") {
        return Some(Place::Constant(0));
    }
    if let Some(number) = general(text) {
        return Some(Place::General { number, shift: 0 });
    }
    let digits = text.strip_prefix(['b', 'h', 's', 'd', 'q', 'v'])?;
    digits.parse().ok().filter(|number| *number < 32).map(Place::Vector)
}

fn general(name: &str) -> Option<u16> {
    match name {
        "sp" | "wsp" => Some(SP),
        "lr" => Some(30),
        _ => name.strip_prefix(['x', 'w'])?.parse().ok().filter(|number| *number < 31),
    }
}

/// `BASE`, `BASE, DISPLACEMENT`, or `BASE, INDEX` with `lsl NUMBER` behind it.
fn memory(text: &str) -> Option<Memory> {
    let mut parts = text.split(',').map(str::trim);
    let mut memory = Memory { base: Some(general(parts.next()?)?), ..Memory::default() };
    if let Some(second) = parts.next() {
        match number(second.strip_prefix('#').unwrap_or(second)) {
            Some(displacement) => memory.displacement = displacement,
            // The index has 64 bits: what extends 32 of them is not written in notes.
            None => memory.index = Some((general(second).filter(|_| second.starts_with('x'))?, 0)),
        }
    }
    if let Some(third) = parts.next() {
        let power = third.strip_prefix("lsl ").map(|power| power.trim().trim_start_matches('#'))?;
        let (index, _) = memory.index?;
        memory.index = Some((index, power.parse().ok().filter(|power| *power < 4)?));
    }
    parts.next().is_none().then_some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_operand_is_read() {
        let memory = |base, index, displacement| {
            Some(Place::Memory(Memory { base: Some(base), index, symbol: None, displacement }))
        };
        let general = |number| Some(Place::General { number, shift: 0 });
        for (text, expected) in [
            ("x0", general(0)),
            ("w19", general(19)),
            ("sp", general(31)),
            ("xzr", Some(Place::Constant(0))),
            ("-7", Some(Place::Constant(-7))),
            ("#16", Some(Place::Constant(16))),
            ("d8", Some(Place::Vector(8))),
            ("[sp, 16]", memory(31, None, 16)),
            ("[x29, #-8]", memory(29, None, -8)),
            ("[x1]", memory(1, None, 0)),
            ("[x1, x2, lsl 3]", memory(1, Some((2, 3)), 0)),
            ("[x1, x2]", memory(1, Some((2, 0)), 0)),
            ("[x1, w2, sxtw]", None),
            ("x31", None),
            ("[x0, :lo12:level]", None),
            ("", None),
        ] {
            assert_eq!(place(text), expected, "{text}");
        }
    }
}
