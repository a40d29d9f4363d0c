//! Histograms.

use insn::x86::Reg;

use super::Refusal;
use super::frame::Frame;
use super::probe::Source;
use super::thread;
use super::writer::{Label, Writer};

/// Loads the number into rax; goes to `none` if there is none.
pub(super) fn number(writer: &mut Writer<'_>, frame: &Frame, source: Source, none: &mut Label) {
    match source {
        Source::Register(register) => frame.load(writer, Reg::RAX, register),
        Source::Since { threads, key } => thread::since(writer, threads, key, none),
    }
}

/// Adds one to the bucket of the number's logarithm. Overwrites rax and rcx.
pub(super) fn log2(writer: &mut Writer<'_>, frame: &Frame, buckets: u64, source: Source) {
    let mut end = Label::NEW;
    number(writer, frame, source, &mut end);
    // bsr %rax, %rcx; cmovz minus_one, %rcx; lea buckets, %rax; lock incq 8(%rax,%rcx,8)
    writer.emit(&[0x48, 0x0f, 0xbd, 0xc8]);
    writer.emit_constant(&[0x48, 0x0f, 0x44], 1, u64::MAX);
    writer.emit_at(&[0x48, 0x8d], 0, buckets, &[]);
    writer.emit(&[0xf0, 0x48, 0xff, 0x44, 0xc8, 8]);
    writer.bind(&mut end);
}

/// The buckets of a linear histogram.
pub(super) struct Linear {
    pub(super) buckets: u64,
    pub(super) low: u64,
    pub(super) width: u64,
    pub(super) count: u32,
}

/// Adds one to the bucket of the number. Overwrites rax, rcx and rdx.
pub(super) fn linear(writer: &mut Writer<'_>, frame: &Frame, linear: &Linear, source: Source) {
    let Linear { buckets, low, width, count } = *linear;
    if width == 0 || count == 0 || count >= 1 << 31 {
        return writer.refuse(Refusal::NoSuchSize);
    }
    let (mut below, mut above) = (Label::NEW, Label::NEW);
    let (mut add, mut end) = (Label::NEW, Label::NEW);
    number(writer, frame, source, &mut end);
    // sub low, %rax; jb below
    writer.emit_constant(&[0x48, 0x2b], 0, low);
    writer.jump(&[0x0f, 0x82], &mut below);
    if width.is_power_of_two() {
        // shr $shift, %rax
        writer.emit(&[0x48, 0xc1, 0xe8, width.trailing_zeros() as u8]);
    } else {
        // xor %edx, %edx; div width
        writer.emit(&[0x31, 0xd2]);
        writer.emit_constant(&[0x48, 0xf7], 6, width);
    }
    // cmp $count, %rax; jae above; mov %rax, %rcx; jmp add
    let [a, b, c, d] = count.to_le_bytes();
    writer.emit(&[0x48, 0x3d, a, b, c, d]);
    writer.jump(&[0x0f, 0x83], &mut above);
    writer.emit(&[0x48, 0x89, 0xc1]);
    writer.jump(&[0xe9], &mut add);
    // below: mov $count, %ecx; jmp add
    writer.bind(&mut below);
    writer.emit(&[0xb9, a, b, c, d]);
    writer.jump(&[0xe9], &mut add);
    // above: mov $(count + 1), %ecx
    writer.bind(&mut above);
    let [a, b, c, d] = count.wrapping_add(1).to_le_bytes();
    writer.emit(&[0xb9, a, b, c, d]);
    // add: lea buckets, %rax; lock incq (%rax,%rcx,8)
    writer.bind(&mut add);
    writer.emit_at(&[0x48, 0x8d], 0, buckets, &[]);
    writer.emit(&[0xf0, 0x48, 0xff, 0x04, 0xc8]);
    writer.bind(&mut end);
}
