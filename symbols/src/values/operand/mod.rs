//! The arguments of static probes: where the assembler put them, and their values.
//!
//! An argument is written `SIZE@OPERAND`. SIZE is a number of bytes, negative for a number with a sign, and has an `f` behind it for a
//! floating-point number. OPERAND is what an instruction of the architecture would have there.

mod arm64;
mod place;
mod x86;

use self::place::{Memory, Place};
use super::call::Argument;
use super::data::Data;
use super::thread::Thread;
use crate::elf::{Arch, Kind, StaticProbe};
use crate::process::Module;
use crate::text::printable;

/// The largest number of arguments of one probe.
const MOST: usize = 64;
/// The largest number of bytes of a text that are read.
const LONGEST: usize = 64;
/// The lowest address that a program can map (`vm.mmap_min_addr`).
const LOWEST: u64 = 0x1_0000;

/// An argument of a static probe.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operand {
    /// Its number of bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// What its bits are.
    pub format: Format,
    place: Place,
}

/// What the bits of an argument of a static probe are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A number without sign, or an address.
    Unsigned,
    /// A number with a sign.
    Signed,
    /// A floating-point number.
    Float,
}

impl Operand {
    /// The general register of which the argument is the lowest bytes, by its number in debug information.
    pub fn register(&self) -> Option<u16> {
        match self.place {
            Place::General { number, shift: 0 } => Some(number),
            _ => None,
        }
    }

    /// The type's name: `u64`, `i32`, `f64`.
    pub fn kind(&self) -> String {
        let letter = match self.format {
            Format::Unsigned => 'u',
            Format::Signed => 'i',
            Format::Float => 'f',
        };
        format!("{letter}{}", 8 * self.size)
    }
}

/// The arguments that a static probe describes.
pub fn operands(arch: Arch, probe: &StaticProbe) -> Vec<Operand> {
    split(&probe.arguments).into_iter().take(MOST).map(|text| operand(arch, text)).collect()
}

/// The values of a static probe's arguments, for a thread that is there. They are called `arg0`, `arg1` and so on.
pub fn operand_values<T: Thread>(module: &Module, probe: &StaticProbe, thread: &mut T) -> Vec<Argument> {
    let all = operands(module.image.arch(), probe);
    let value = |(number, operand): (usize, &Operand)| {
        let data = data(module, operand, thread).unwrap_or(Data::Unknown("unreadable"));
        Argument::new(format!("arg{number}"), operand.kind(), data)
    };
    all.iter().enumerate().map(value).collect()
}

/// Splits arguments at the spaces outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_end = move |letter: char| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ' ' && depth == 0
    };
    text.split(is_end).filter(|part| !part.is_empty()).collect()
}

fn operand(arch: Arch, text: &str) -> Operand {
    let word = if arch == Arch::I386 { 4 } else { 8 };
    let (size, text) = text.split_once('@').unwrap_or(("", text));
    let (number, is_float) = size.strip_suffix('f').map_or((size, false), |number| (number, true));
    let number: i32 = number.parse().unwrap_or(word);
    let format = match (is_float, number < 0) {
        (true, _) => Format::Float,
        (false, true) => Format::Signed,
        (false, false) => Format::Unsigned,
    };
    let place = match arch {
        Arch::X86_64 | Arch::I386 => x86::place(text),
        Arch::Arm64 => arm64::place(text),
    };
    match number.unsigned_abs() {
        size @ (1 | 2 | 4 | 8) => Operand { size: size as u8, format, place: place.unwrap_or(Place::Unknown) },
        _ => Operand { size: word as u8, format, place: Place::Unknown },
    }
}

fn data<T: Thread>(module: &Module, operand: &Operand, thread: &mut T) -> Option<Data> {
    let size = usize::from(operand.size);
    let mut bytes = [0; 8];
    match &operand.place {
        Place::Constant(value) => bytes = value.to_le_bytes(),
        Place::General { number, shift } => bytes = (thread.general(*number)? >> shift).to_le_bytes(),
        Place::Vector(number) => bytes.copy_from_slice(thread.vector(*number)?.get(..8)?),
        Place::Memory(memory) => {
            let address = address(module, memory, thread)?;
            let wanted = bytes.get_mut(..size)?;
            if thread.read(address, wanted) != size {
                return None;
            }
        }
        Place::Unknown => return None,
    }
    let unused = 64 - 8 * u32::from(operand.size);
    let value = u64::from_le_bytes(bytes) << unused;
    let (signed, unsigned) = (value as i64 >> unused, value >> unused);
    let is_address = operand.size == if module.image.arch() == Arch::I386 { 4 } else { 8 };
    Some(match (operand.format, operand.size) {
        (Format::Float, 4) => Data::Single(unsigned as u32),
        (Format::Float, 8) => Data::Double(unsigned),
        (Format::Float, _) => return None,
        (Format::Signed, _) => Data::Signed(signed),
        (Format::Unsigned, _) if is_address && unsigned >= LOWEST => {
            let mut text = [0; LONGEST];
            let read = thread.read(unsigned, &mut text);
            Data::Pointer { address: unsigned, text: printable(text.get(..read)?), target: None }
        }
        (Format::Unsigned, _) => Data::Unsigned(unsigned),
    })
}

/// The address in memory of an operand.
fn address<T: Thread>(module: &Module, memory: &Memory, thread: &mut T) -> Option<u64> {
    let mut address = memory.displacement as u64;
    if let Some(name) = &memory.symbol {
        let symbols = module.image.symbols();
        let symbol = symbols.iter().find(|symbol| *symbol.name == **name && symbol.kind != Kind::ThreadLocal)?;
        address = address.wrapping_add(module.in_memory(symbol.address));
    }
    if let Some(base) = memory.base {
        address = address.wrapping_add(thread.general(base)?);
    }
    if let Some((index, power)) = memory.index {
        address = address.wrapping_add(thread.general(index)? << power);
    }
    Some(if module.image.arch() == Arch::I386 { address & 0xffff_ffff } else { address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_end_at_spaces_outside_of_brackets() {
        assert_eq!(split("8@%rdi -4@$3  8@(%rax, %rbx)"), ["8@%rdi", "-4@$3", "8@(%rax, %rbx)"]);
        assert_eq!(split("8@[sp, 16] 4@w0"), ["8@[sp, 16]", "4@w0"]);
        assert!(split("").is_empty() && split("]] ((").len() <= 2);
    }

    #[test]
    fn the_size_tells_bytes_sign_and_fraction() {
        for (text, kind) in
            [("8@%rax", "u64"), ("-4@%eax", "i32"), ("1@%al", "u8"), ("8f@%xmm0", "f64"), ("%rax", "u64")]
        {
            assert_eq!(operand(Arch::X86_64, text).kind(), kind, "{text}");
        }
        assert_eq!(operand(Arch::I386, "%eax").kind(), "u32");
        assert_eq!(operand(Arch::X86_64, "3@%eax").place, Place::Unknown);
    }

    #[test]
    fn no_text_makes_the_parser_panic() {
        const WORDS: [&str; 24] = [
            "8@", "-4@", "8f@", "@", "%rax", "%", "%r", "(", ")", "[", "]", ",", " ", "sp", "x1", "lsl ", "#", "$",
            "+", "-", "7", "0x", "level", "é",
        ];
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |most: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 16) as usize % most
        };
        let mut known = 0;
        for _ in 0..40_000 {
            let text: String = (0..1 + next(8)).map(|_| WORDS[next(WORDS.len())]).collect();
            for arch in [Arch::X86_64, Arch::I386, Arch::Arm64] {
                known += split(&text).iter().filter(|part| operand(arch, part).place != Place::Unknown).count();
            }
        }
        assert!(known > 1000, "{known}");
    }
}
