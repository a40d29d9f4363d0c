//! Copies of the program's stack.

use insn::x86::Reg;

use super::frame::Frame;
use super::probe::ThreadKey;
use super::writer::{Label, Writer};
use super::{Refusal, thread};

/// The most bytes.
const MOST: u16 = 1 << 15;

/// `jb rel32`
const JB: &[u8] = &[0x0f, 0x82];

/// Copies at most `size` bytes of the stack to the offset `at` in the slot, whose address is in rsi, behind a word with their number of words. The
/// stack of the initial thread ends at the address in the word at `end`. Overwrites rax, rcx and rdx.
pub(super) fn copy(writer: &mut Writer<'_>, frame: &Frame, key: ThreadKey, (size, end): (u16, u64), at: u32) {
    if size == 0 || size % 8 != 0 || size > MOST {
        return writer.refuse(Refusal::NoSuchSize);
    }
    thread::key(writer, key);
    frame.load(writer, Reg::RDX, Reg::RSP);
    // mov $size, %eax
    let [a, b, c, d] = u32::from(size).to_le_bytes();
    writer.emit(&[0xb8, a, b, c, d]);
    limit(writer);
    // mov end, %rcx
    writer.emit_at(&[0x48, 0x8b], 1, end, &[]);
    limit(writer);
    // shr $3, %eax; mov %rax, at(%rsi); xor %ecx, %ecx; jmp test
    let [a, b, c, d] = at.to_le_bytes();
    let (mut next, mut test, mut done) = (Label::NEW, Label::NEW, Label::NEW);
    writer.emit(&[0xc1, 0xe8, 3]);
    writer.emit(&[0x48, 0x89, 0x86, a, b, c, d]);
    writer.emit(&[0x31, 0xc9]);
    writer.jump(&[0xe9], &mut test);
    // next: mov (%rdx,%rcx,8), %rax, which goes to done if it faults
    writer.bind(&mut next);
    writer.fixup(&mut done);
    writer.emit(&[0x48, 0x8b, 0x04, 0xca]);
    // mov %rax, at+8(%rsi,%rcx,8); inc %rcx
    let [e, f, g, h] = at.wrapping_add(8).to_le_bytes();
    writer.emit(&[0x48, 0x89, 0x84, 0xce, e, f, g, h]);
    writer.emit(&[0x48, 0xff, 0xc1]);
    // test: cmp at(%rsi), %rcx; jb next
    writer.bind(&mut test);
    writer.emit(&[0x48, 0x3b, 0x8e, a, b, c, d]);
    writer.jump(JB, &mut next);
    // done: mov %rcx, at(%rsi)
    writer.bind(&mut done);
    writer.emit(&[0x48, 0x89, 0x8e, a, b, c, d]);
}

/// Makes rax the distance from rdx to rcx, if rcx lies above and that is less. Overwrites rcx.
fn limit(writer: &mut Writer<'_>) {
    let mut below = Label::NEW;
    // sub %rdx, %rcx; jb below; cmp %rax, %rcx; cmovb %rcx, %rax
    writer.emit(&[0x48, 0x29, 0xd1]);
    writer.jump(JB, &mut below);
    writer.emit(&[0x48, 0x39, 0xc1]);
    writer.emit(&[0x48, 0x0f, 0x42, 0xc1]);
    writer.bind(&mut below);
}
