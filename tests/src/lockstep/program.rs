//! Where things lie in the child, and instructions written as text.

use insn::x86::Bits;

use super::case::Placement;

/// Bytes of the code window; all of it is `int3` but for the program.
pub const CODE_SIZE: u64 = 0x1_0000;
/// Offset of the probed instruction in the code window.
pub const SITE: u64 = 0x8000;
/// Bytes of the data window.
pub const DATA_SIZE: u64 = 0x4000;
/// Bytes of the stack; the pages around it are not mapped.
pub const STACK_SIZE: u64 = 0x4000;
/// Bytes of the window that forked children share.
pub(super) const SHARED_SIZE: u64 = 0x1000;
/// Bytes of the window that 32-bit addresses reach.
pub const LOW_SIZE: u64 = 0x1000;

/// Bytes of the mirror: one page more than the code has.
pub(super) const MIRROR_SIZE: u64 = CODE_SIZE + 0x1000;
/// Bytes of the window that probes write.
pub const NOTES_SIZE: u64 = 0x4000;

/// Addresses in the child.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Code window.
    pub code: u64,
    /// Data window, within reach of the code.
    pub data: u64,
    /// Stack.
    pub stack: u64,
    /// Shared between forked children.
    pub shared: u64,
    /// Data below 2 GiB, for absolute and 32-bit addresses.
    pub low: u64,
    /// Room for a mirror of the code, at the distance of the jumps.
    pub mirror: u64,
    /// What probes write.
    pub notes: u64,
    /// A slot within reach of the code.
    pub near: u64,
    /// A slot out of reach, if there is such a thing.
    pub far: u64,
}

impl Layout {
    pub(super) fn new(bits: Bits) -> Layout {
        let code = if bits == Bits::B64 { 0x10_0000_0000 } else { 0x1000_0000 };
        Layout {
            code,
            data: code + 0x20_0000,
            shared: code + 0x30_0000,
            low: 0x3800_0000,
            stack: code + 0x1000_0000,
            mirror: code + 0x606_0000,
            // No sum of two windows: a segment base and an address may both be one.
            notes: code + 0x1812_0000,
            near: code + 0x2000_0000,
            far: if bits == Bits::B64 { code + 0x70_0000_0000 } else { 0xb000_0000 },
        }
    }

    /// Address of the slot.
    pub fn slot(&self, placement: Placement) -> u64 {
        match placement {
            Placement::Near => self.near,
            Placement::Far => self.far,
        }
    }

    /// Address of the probed instruction.
    pub fn site(&self) -> u64 {
        self.code + SITE
    }

    fn name(&self, name: &str) -> u64 {
        match name {
            "code" => self.code,
            "site" => self.site(),
            "data" => self.data,
            "shared" => self.shared,
            "low" => self.low,
            "stack" => self.stack,
            _ => panic!("no window is called {name}"),
        }
    }

    /// The bytes of one instruction at `pc`, written as hexadecimal bytes and, for addresses, `@NAME+OFFSET` (distance from
    /// the instruction's end in 32 bits, or `/8`, `/16`) or `=NAME+OFFSET` (the address itself in 64 bits, or `/32`);
    /// a name is `code`, `site`, `data`, `shared`, `low` or `stack`, an offset hexadecimal.
    pub fn instruction(&self, text: &str, pc: u64) -> Vec<u8> {
        let size = |token: &str| match token.rsplit_once('/') {
            Some((_, bits)) => bits.parse::<usize>().expect("a width") / 8,
            None if token.starts_with('@') => 4,
            None if token.starts_with('=') => 8,
            None => token.len() / 2,
        };
        let end = pc + text.split_whitespace().map(size).sum::<usize>() as u64;
        let mut bytes = Vec::new();
        for token in text.split_whitespace() {
            let Some(kind) = token.chars().next().filter(|c| "@=".contains(*c)) else {
                bytes.extend((0..token.len()).step_by(2).map(|at| {
                    u8::from_str_radix(&token[at..at + 2], 16).unwrap_or_else(|_| panic!("{token} is not hexadecimal"))
                }));
                continue;
            };
            let name = token[1..].split('/').next().expect("a name");
            let (name, offset) = name.split_once('+').unwrap_or((name, "0"));
            let address = self.name(name).wrapping_add(u64::from_str_radix(offset, 16).expect("an offset"));
            let value = if kind == '@' { address.wrapping_sub(end) } else { address };
            bytes.extend(&value.to_le_bytes()[..size(token)]);
        }
        bytes
    }
}
