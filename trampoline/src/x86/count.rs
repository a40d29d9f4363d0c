//! Counters.

use super::Refusal;
use super::probe::CpuSource;
use super::writer::Writer;
use crate::Progress;

/// Selector of the segment whose limit holds the processor's number (arch/x86/include/asm/segment.h, `__CPUNODE_SEG`).
const CPU_SEGMENT: u8 = 0x7b;
/// Offset of `cpu_id` in `struct rseq` (include/uapi/linux/rseq.h).
const CPU_ID: i32 = 4;

/// Adds one to a word.
pub(super) fn count(writer: &mut Writer<'_>, counter: u64, atomic: bool) {
    let opcode: &[u8] = if atomic { &[0xf0, 0x48, 0xff] } else { &[0x48, 0xff] };
    writer.emit_at(opcode, 0, counter, &[]);
}

/// Adds one to a word, and loads the new value into rdx.
pub(super) fn count_and_load(writer: &mut Writer<'_>, counter: u64) {
    // mov $1, %edx; lock xadd %rdx, counter; inc %rdx
    writer.emit(&[0xba, 1, 0, 0, 0]);
    writer.emit_at(&[0xf0, 0x48, 0x0f, 0xc1], 2, counter, &[]);
    writer.state.progress = Progress::During;
    writer.emit(&[0x48, 0xff, 0xc2]);
}

/// Adds one to the word of this processor. Overwrites rax.
pub(super) fn per_cpu(writer: &mut Writer<'_>, counters: u64, words: u8, stride: u8, source: CpuSource) {
    if words > 12 || !(3..=12).contains(&stride) {
        return writer.refuse(Refusal::NoSuchSize);
    }
    match source {
        // rdpid %rax
        CpuSource::Rdpid => writer.emit(&[0xf3, 0x0f, 0xc7, 0xf8]),
        CpuSource::SegmentLimit => {
            // mov $segment, %eax; lsl %eax, %eax
            writer.emit(&[0xb8, CPU_SEGMENT, 0, 0, 0]);
            writer.emit(&[0x0f, 0x03, 0xc0]);
        }
        CpuSource::Rseq(offset) => {
            // mov %fs:offset, %eax
            let [a, b, c, d] = offset.wrapping_add(CPU_ID).to_le_bytes();
            writer.emit(&[0x64, 0x8b, 0x04, 0x25, a, b, c, d]);
        }
    }
    // and $mask, %eax; shl $stride, %eax; add counters, %rax; lock incq (%rax)
    let [a, b, c, d] = 1_u32.wrapping_shl(words.into()).wrapping_sub(1).to_le_bytes();
    writer.emit(&[0x25, a, b, c, d]);
    writer.emit(&[0xc1, 0xe0, stride]);
    writer.emit_constant(&[0x48, 0x03], 0, counters);
    writer.emit(&[0xf0, 0x48, 0xff, 0x00]);
}
