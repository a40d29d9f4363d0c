//! Time and thread.

use super::Refusal;
use super::probe::{ThreadKey, Threads};
use super::writer::{Label, Writer};
use crate::Progress;

/// 2⁶⁴ divided by the golden ratio, for multiplicative hashing.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Loads the time stamp counter into rax. Overwrites rdx, and with `rdtscp` loads the processor's number into rcx.
pub(super) fn time(writer: &mut Writer<'_>, rdtscp: bool) {
    if rdtscp {
        writer.emit(&[0x0f, 0x01, 0xf9]);
    } else {
        writer.emit(&[0x0f, 0x31]);
    }
    // shl $32, %rdx; or %rdx, %rax
    writer.emit(&[0x48, 0xc1, 0xe2, 32]);
    writer.emit(&[0x48, 0x09, 0xd0]);
}

/// Loads the thread's key into rcx.
pub(super) fn key(writer: &mut Writer<'_>, key: ThreadKey) {
    match key {
        // rdfsbase %rcx
        ThreadKey::Rdfsbase => writer.emit(&[0xf3, 0x48, 0x0f, 0xae, 0xc1]),
        ThreadKey::Word => {
            let mut behind = Label::NEW;
            writer.fixup(&mut behind);
            // mov %fs:0, %rcx
            writer.emit(&[0x64, 0x48, 0x8b, 0x0c, 0x25, 0, 0, 0, 0]);
            writer.bind(&mut behind);
        }
    }
}

/// Loads the time into rax, the thread's key xor [`GOLDEN`] into rcx, and the address of its pair into rdx. So a pair of zeros is none of a thread
/// whose key is 0.
fn pair(writer: &mut Writer<'_>, threads: Threads, of: ThreadKey) {
    if !(1..=24).contains(&threads.pairs) || threads.at & 15 != 0 {
        return writer.refuse(Refusal::NoSuchSize);
    }
    time(writer, false);
    key(writer, of);
    // mov %rcx, %rdx; imul GOLDEN, %rdx; shr $(64 - pairs), %rdx; shl $4, %rdx; add at, %rdx
    writer.emit(&[0x48, 0x89, 0xca]);
    writer.emit_constant(&[0x48, 0x0f, 0xaf], 2, GOLDEN);
    writer.emit(&[0x48, 0xc1, 0xea, 64_u8.wrapping_sub(threads.pairs)]);
    writer.emit(&[0x48, 0xc1, 0xe2, 4]);
    writer.emit_constant(&[0x48, 0x03], 2, threads.at);
    // xor GOLDEN, %rcx
    writer.emit_constant(&[0x48, 0x33], 1, GOLDEN);
}

/// Notes the time. Overwrites rax, rcx and rdx.
pub(super) fn stamp(writer: &mut Writer<'_>, threads: Threads, of: ThreadKey) {
    pair(writer, threads, of);
    // mov %rax, (%rdx); xor %rax, %rcx; mov %rcx, 8(%rdx)
    writer.emit(&[0x48, 0x89, 0x02]);
    writer.state.progress = Progress::During;
    writer.emit(&[0x48, 0x31, 0xc1]);
    writer.emit(&[0x48, 0x89, 0x4a, 8]);
}

/// Loads the time since the last stamp into rax; goes to `none` if there is none. Overwrites rcx, rdx and rsi.
pub(super) fn since(writer: &mut Writer<'_>, threads: Threads, of: ThreadKey, none: &mut Label) {
    pair(writer, threads, of);
    // mov (%rdx), %rsi; xor %rsi, %rcx; cmp 8(%rdx), %rcx; jne none; sub %rsi, %rax
    writer.emit(&[0x48, 0x8b, 0x32]);
    writer.emit(&[0x48, 0x31, 0xf1]);
    writer.emit(&[0x48, 0x3b, 0x4a, 8]);
    writer.jump(&[0x0f, 0x85], none);
    writer.emit(&[0x48, 0x29, 0xf0]);
}
