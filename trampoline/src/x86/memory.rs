//! Memory of the program behind a checked pointer.

use insn::x86::Reg;

use super::Refusal;
use super::frame::Frame;
use super::probe::Memory;
use super::writer::{Label, Writer};

/// `jb rel32`, `ja rel32`
const JB: &[u8] = &[0x0f, 0x82];
const JA: &[u8] = &[0x0f, 0x87];

/// Sizes in bytes, and the prefix and opcode of a load that extends them by zeros: `movzx`, and `mov` (with REX, which changes nothing or widens).
const LOADS: [(u8, [u8; 2]); 4] = [(1, [0x0f, 0xb6]), (2, [0x0f, 0xb7]), (4, [0x40, 0x8b]), (8, [0x48, 0x8b])];

/// Loads the address of `memory` into rcx, and goes to `fail` if it is not in its window. Overwrites rax.
pub(super) fn address(writer: &mut Writer<'_>, frame: &Frame, memory: &Memory, fail: &mut Label) {
    match (memory.base, i32::try_from(memory.offset)) {
        (None, _) => {
            // movabs $offset, %rcx
            let [a, b, c, d, e, f, g, h] = memory.offset.to_le_bytes();
            writer.emit(&[0x48, 0xb9, a, b, c, d, e, f, g, h]);
        }
        (Some(base), Ok(offset)) => {
            frame.load(writer, Reg::RCX, base);
            if offset != 0 {
                // lea offset(%rcx), %rcx
                let [a, b, c, d] = offset.to_le_bytes();
                writer.emit(&[0x48, 0x8d, 0x89, a, b, c, d]);
            }
        }
        (Some(base), Err(_)) => {
            frame.load(writer, Reg::RCX, base);
            // add offset, %rcx
            writer.emit_constant(&[0x48, 0x03], 1, memory.offset as u64);
        }
    }
    // mov %rcx, %rax; sub start, %rax; jb fail; add $size, %rax; jb fail; cmp length, %rax; ja fail
    writer.emit(&[0x48, 0x89, 0xc8]);
    writer.emit_at(&[0x48, 0x2b], 0, memory.window, &[]);
    writer.jump(JB, fail);
    writer.emit(&[0x48, 0x83, 0xc0, memory.size & 0x7f]);
    writer.jump(JB, fail);
    writer.emit_at(&[0x48, 0x3b], 0, memory.window.wrapping_add(8), &[]);
    writer.jump(JA, fail);
}

/// Loads `size` bytes at `offset` from rcx, zero-extended, into rax. A fault leads to `fail`.
pub(super) fn load(writer: &mut Writer<'_>, offset: u8, size: u8, fail: &mut Label) {
    writer.fixup(fail);
    let opcode = LOADS.iter().find(|(bytes, _)| *bytes == size).map(|(_, opcode)| *opcode);
    match opcode {
        Some([a, b]) => writer.emit(&[a, b, 0x41, offset]),
        None => writer.refuse(Refusal::NoSuchSize),
    }
}
