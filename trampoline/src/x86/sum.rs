//! Rows of numbers that are summed up.

use super::frame::Frame;
use super::histogram::number;
use super::probe::Source;
use super::writer::{Label, Writer};
use crate::Progress;
use insn::x86::Reg;

/// Offsets of the words of a row.
const HIGH: u8 = 8;
const LEAST: u8 = 16;
const LARGEST: u8 = 24;
const BUCKETS: u8 = 32;

/// Adds the number to the row. Overwrites rax, rcx and rdx.
///
/// The sum comes first, then the bucket, which counts the number, and then the two ends, which may be told a number twice. So the place where a
/// thread stops tells which parts are left ([`Progress`]).
pub(super) fn sum(writer: &mut Writer<'_>, frame: &Frame, row: u64, source: Source) {
    let tells = writer.state.progress == Progress::Before;
    let reach = |writer: &mut Writer<'_>, progress| {
        if tells {
            writer.state.progress = progress;
        }
    };
    let (mut no_carry, mut end) = (Label::NEW, Label::NEW);
    number(writer, frame, source, &mut end);
    // lea row, %rcx; lock add %rax, (%rcx); jnc no_carry; lock incq 8(%rcx)
    writer.emit_at(&[0x48, 0x8d], Reg::RCX.number(), row, &[]);
    writer.emit(&[0xf0, 0x48, 0x01, 0x01]);
    reach(writer, Progress::Summing);
    writer.jump(&[0x0f, 0x83], &mut no_carry);
    writer.emit(&[0xf0, 0x48, 0xff, 0x41, HIGH]);
    reach(writer, Progress::Summed);
    writer.bind(&mut no_carry);
    // bsr %rax, %rdx; cmovz minus_one, %rdx; lock incq 40(%rcx,%rdx,8)
    writer.emit(&[0x48, 0x0f, 0xbd, 0xd0]);
    writer.emit_constant(&[0x48, 0x0f, 0x44], Reg::RDX.number(), u64::MAX);
    writer.emit(&[0xf0, 0x48, 0xff, 0x44, 0xd1, BUCKETS.wrapping_add(8)]);
    reach(writer, Progress::Counted);
    // mov %rax, %rdx
    writer.emit(&[0x48, 0x89, 0xc2]);
    raise(writer, LARGEST);
    // not %rdx
    writer.emit(&[0x48, 0xf7, 0xd2]);
    raise(writer, LEAST);
    writer.bind(&mut end);
}

/// Makes the word at an offset from rcx at least rdx. Overwrites rax. Another attempt follows only where another thread has raised the word.
fn raise(writer: &mut Writer<'_>, offset: u8) {
    let (mut again, mut enough) = (Label::NEW, Label::NEW);
    // mov offset(%rcx), %rax; again: cmp %rax, %rdx; jbe enough
    writer.emit(&[0x48, 0x8b, 0x41, offset]);
    writer.bind(&mut again);
    writer.emit(&[0x48, 0x39, 0xc2]);
    writer.jump(&[0x0f, 0x86], &mut enough);
    // lock cmpxchg %rdx, offset(%rcx); jne again
    writer.emit(&[0xf0, 0x48, 0x0f, 0xb1, 0x51, offset]);
    writer.jump(&[0x0f, 0x85], &mut again);
    writer.bind(&mut enough);
}
