//! Operands of x86 in AT&T's syntax.

use super::place::{Memory, Place, number};

/// The names of the first eight registers by their numbers in debug information for x86-64 (System V ABI for AMD64, figure 3.36).
const NAMES: [[&str; 4]; 8] = [
    ["rax", "eax", "ax", "al"],
    ["rdx", "edx", "dx", "dl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rbx", "ebx", "bx", "bl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
];
/// The registers that are the second byte of another one.
const HIGH: [(&str, u16); 4] = [("ah", 0), ("dh", 1), ("ch", 2), ("bh", 3)];

/// Behind a symbol: its distance from the global offset table (System V ABI for i386, 4.2).
const BY_BASE: &str = "@GOTOFF";

pub(super) fn place(text: &str) -> Option<Place> {
    if let Some(constant) = text.strip_prefix('$') {
        return number(constant).map(Place::Constant);
    }
    match text.strip_prefix('%') {
        // A colon follows the name of a segment.
        Some(name) => register(name),
        None => memory(text).map(Place::Memory),
    }
}

fn register(name: &str) -> Option<Place> {
    if let Some((_, number)) = HIGH.iter().find(|(high, _)| *high == name) {
        return Some(Place::General { number: *number, shift: 8 });
    }
    if let Some(number) = name.strip_prefix("xmm").and_then(|digits| digits.parse().ok()) {
        return Some(Place::Vector(number));
    }
    general(name).map(|number| Place::General { number, shift: 0 })
}

fn general(name: &str) -> Option<u16> {
    if let Some(number) = NAMES.iter().position(|names| names.contains(&name)) {
        return Some(number as u16);
    }
    let digits = name.strip_prefix('r')?.trim_end_matches(['d', 'w', 'b']);
    digits.parse().ok().filter(|number| (8..16).contains(number))
}

/// `DISPLACEMENT(BASE,INDEX,SCALE)`, of which all but one may be missing; the displacement may have a symbol.
fn memory(text: &str) -> Option<Memory> {
    let (outside, inside) = match text.split_once('(') {
        Some((outside, inside)) => (outside, inside.strip_suffix(')')?),
        None => (text, ""),
    };
    let mut memory = Memory::default();
    // In position-independent i386 code: the distance of a symbol from the address in the base register. The sum is the symbol itself.
    let by_base = outside.contains(BY_BASE);
    displacement(&outside.trim().replace(BY_BASE, ""), &mut memory)?;
    let mut parts = inside.split(',').map(str::trim);
    match parts.next().unwrap_or_default() {
        "" => {}
        // The distance of a symbol from the instruction: the symbol itself. Other distances have no meaning in a note.
        "%rip" if memory.symbol.is_some() => {}
        _ if by_base => {}
        base => memory.base = Some(general(base.strip_prefix('%')?)?),
    }
    if let Some(index) = parts.next() {
        let power = match parts.next().unwrap_or("1") {
            "1" => 0,
            "2" => 1,
            "4" => 2,
            "8" => 3,
            _ => return None,
        };
        memory.index = Some((general(index.strip_prefix('%')?)?, power));
    }
    (text.contains('(') || memory.symbol.is_some() || memory.displacement != 0).then_some(memory)
}

/// A sum of numbers and of at most one symbol.
fn displacement(text: &str, memory: &mut Memory) -> Option<()> {
    let mut rest = text;
    while !rest.is_empty() {
        // The first sign belongs to the part.
        let end = rest.char_indices().skip(1).find(|(_, letter)| matches!(letter, '+' | '-')).map(|(at, _)| at);
        let (part, behind) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        rest = behind;
        match number(part) {
            Some(number) => memory.displacement = memory.displacement.wrapping_add(number),
            None if memory.symbol.is_some() || part.starts_with('-') || part.contains([':', '%']) => return None,
            None => memory.symbol = Some(part.strip_prefix('+').unwrap_or(part).into()),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_operand_is_read() {
        let memory = |base, index, symbol: Option<&str>, displacement| {
            Some(Place::Memory(Memory { base, index, symbol: symbol.map(str::to_string), displacement }))
        };
        let general = |number, shift| Some(Place::General { number, shift });
        for (text, expected) in [
            ("$-5", Some(Place::Constant(-5))),
            ("%rdi", general(5, 0)),
            ("%r15", general(15, 0)),
            ("%r9d", general(9, 0)),
            ("%dh", general(1, 8)),
            ("%sil", general(4, 0)),
            ("%xmm12", Some(Place::Vector(12))),
            ("-8(%rbp)", memory(Some(6), None, None, -8)),
            ("(%rax)", memory(Some(0), None, None, 0)),
            ("16(%rax,%rbx,8)", memory(Some(0), Some((3, 3)), None, 16)),
            ("(,%r8,4)", memory(None, Some((8, 2)), None, 0)),
            ("level(%rip)", memory(None, None, Some("level"), 0)),
            ("8+level(%rip)", memory(None, None, Some("level"), 8)),
            ("level-4(%rip)", memory(None, None, Some("level"), -4)),
            ("table+4(,%rax,4)", memory(None, Some((0, 2)), Some("table"), 4)),
            ("level@GOTOFF(%ebx)", memory(None, None, Some("level"), 0)),
            ("4+level@GOTOFF(%ebx,%eax,4)", memory(None, Some((0, 2)), Some("level"), 4)),
            ("level", memory(None, None, Some("level"), 0)),
            ("4096", memory(None, None, None, 4096)),
            ("8(%rip)", None),
            ("%fs:-4", None),
            ("%r16", None),
            ("8(%rax", None),
            ("a+b(%rip)", None),
            ("", None),
        ] {
            assert_eq!(place(text), expected, "{text}");
        }
    }
}
