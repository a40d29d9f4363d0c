//! Records.

use insn::x86::Reg;

use super::frame::Frame;
use super::probe::{Field, Memory, Record, Ring, WhenFull};
use super::writer::{Label, Writer};
use super::{Refusal, memory, stack, thread};
use crate::Progress;

/// The registers of integer arguments, by their number (System V ABI, 3.2.3).
const ARGUMENTS: [Reg; 6] = [Reg::RDI, Reg::RSI, Reg::RDX, Reg::RCX, Reg::gpr(8), Reg::gpr(9)];
/// The most fields.
const FIELDS: usize = 32;
/// Words of eight bytes before the fields.
const HEAD: u32 = 5;
/// Distance of the ring's control words in bytes.
const CONTROL: u64 = 64;

/// The register of which a field needs the program's value, if it needs one; `None` if there is no such argument.
pub(super) fn register(field: &Field) -> Option<Option<Reg>> {
    match field {
        Field::Register(register) => Some(Some(*register)),
        Field::Argument(number) => ARGUMENTS.get(usize::from(*number)).map(|register| Some(*register)),
        Field::Memory(memory) => Some(memory.base),
        Field::Return { .. } | Field::Stack { .. } => Some(None),
    }
}

/// Whether the register of a field may be rip.
pub(super) fn may_be_rip(field: &Field) -> bool {
    matches!(field, Field::Register(_))
}

/// The memory that a field holds.
fn memory_of(field: &Field) -> Option<Memory> {
    match *field {
        Field::Memory(memory) => Some(memory),
        Field::Return { window } => Some(Memory { base: Some(Reg::RSP), offset: 0, size: 8, window }),
        _ => None,
    }
}

/// The words of eight bytes that a field takes.
fn words(field: &Field) -> u32 {
    match field {
        Field::Stack { size, .. } => u32::from(*size).div_ceil(8).wrapping_add(1),
        _ => memory_of(field).map_or(1, |memory| u32::from(memory.size).div_ceil(8)),
    }
}

/// Puts a record into its ring. Overwrites rax, rcx, rdx and rsi. Returns the offset behind the `int3` of a full ring.
pub(super) fn record(writer: &mut Writer<'_>, frame: &Frame, record: &Record<'_>, pc: u64) -> Option<u16> {
    let ring = record.ring;
    let need = record.fields.iter().map(words).fold(HEAD, u32::saturating_add);
    if !(6..=16).contains(&ring.size) || ring.count > 30 || need > 1_u32.wrapping_shl(ring.size.into()) / 8 {
        writer.refuse(Refusal::NoSuchSize);
        return None;
    }
    if record.fields.len() > FIELDS {
        writer.refuse(Refusal::TooMuch);
        return None;
    }
    let mut end = Label::NEW;
    let stop = match ring.full {
        WhenFull::Overwrite => {
            overwrite(writer, &ring, &mut end);
            None
        }
        WhenFull::Lose | WhenFull::Stop => take(writer, &ring, &mut end),
    };
    head(writer, record);
    fields(writer, frame, record, pc);
    // notq (%rsi), which completes the record
    writer.emit(&[0x48, 0xf7, 0x16]);
    writer.bind(&mut end);
    stop
}

/// Takes a free slot. Its address is in rsi then, and its word 0 says that the record is incomplete. Goes to `end` if there is none. Returns the
/// offset behind the `int3` of a full ring.
fn take(writer: &mut Writer<'_>, ring: &Ring, end: &mut Label) -> Option<u16> {
    let (before, mut stop) = (writer.state.progress, None);
    let (mut again, mut free) = (Label::NEW, Label::NEW);
    // mov control, %rax
    writer.emit_at(&[0x48, 0x8b], 0, ring.control, &[]);
    // again: mov %rax, %rdx; sub done, %rdx; cmp $count, %rdx; jb free
    writer.bind(&mut again);
    writer.emit(&[0x48, 0x89, 0xc2]);
    writer.emit_at(&[0x48, 0x2b], 2, ring.control.wrapping_add(CONTROL), &[]);
    let [a, b, c, d] = 1_u32.wrapping_shl(ring.count.into()).to_le_bytes();
    writer.emit(&[0x48, 0x81, 0xfa, a, b, c, d]);
    writer.jump(&[0x0f, 0x82], &mut free);
    if ring.full == WhenFull::Stop {
        // int3
        writer.emit(&[0xcc]);
        stop = Some(writer.len());
    } else {
        // lock incq lost
        writer.emit_at(&[0xf0, 0x48, 0xff], 0, ring.control.wrapping_add(2 * CONTROL), &[]);
    }
    // jmp end
    writer.state.progress = Progress::Done;
    writer.jump(&[0xe9], end);
    writer.state.progress = before;
    // free:
    writer.bind(&mut free);
    slot(writer, ring);
    // lea 1(%rax), %rdx; lock cmpxchg %rdx, control; jne again; not %rdx; mov %rdx, (%rsi)
    writer.emit(&[0x48, 0x8d, 0x50, 1]);
    writer.emit_at(&[0xf0, 0x48, 0x0f, 0xb1], 2, ring.control, &[]);
    writer.state.progress = if_zero(before);
    writer.jump(&[0x0f, 0x85], &mut again);
    writer.state.progress = Progress::During;
    writer.emit(&[0x48, 0xf7, 0xd2]);
    writer.emit(&[0x48, 0x89, 0x16]);
    stop
}

/// Takes the slot of the oldest record, as [`take`].
fn overwrite(writer: &mut Writer<'_>, ring: &Ring, end: &mut Label) {
    let before = writer.state.progress;
    // mov $1, %eax; lock xadd %rax, control
    writer.emit(&[0xb8, 1, 0, 0, 0]);
    writer.emit_at(&[0xf0, 0x48, 0x0f, 0xc1], 0, ring.control, &[]);
    if before == Progress::Before {
        writer.state.progress = Progress::Numbered;
    }
    slot(writer, ring);
    // lea 1(%rax), %rdx; not %rdx; mov (%rsi), %rax; test %rax, %rax; js end
    writer.emit(&[0x48, 0x8d, 0x50, 1]);
    writer.emit(&[0x48, 0xf7, 0xd2]);
    writer.emit(&[0x48, 0x8b, 0x06]);
    writer.emit(&[0x48, 0x85, 0xc0]);
    writer.jump(&[0x0f, 0x88], end);
    // lock cmpxchg %rdx, (%rsi); jne end
    writer.emit(&[0xf0, 0x48, 0x0f, 0xb1, 0x16]);
    writer.state.progress = if_zero(before);
    writer.jump(&[0x0f, 0x85], end);
    writer.state.progress = Progress::During;
}

/// Loads the address of the slot whose number is in rax into rsi. Overwrites rdx.
fn slot(writer: &mut Writer<'_>, ring: &Ring) {
    // mov %eax, %esi; and $mask, %esi; shl $size, %rsi; lea slots, %rdx; add %rdx, %rsi
    writer.emit(&[0x89, 0xc6]);
    let [a, b, c, d] = 1_u32.wrapping_shl(ring.count.into()).wrapping_sub(1).to_le_bytes();
    writer.emit(&[0x81, 0xe6, a, b, c, d]);
    writer.emit(&[0x48, 0xc1, 0xe6, ring.size]);
    writer.emit_at(&[0x48, 0x8d], 2, ring.slots, &[]);
    writer.emit(&[0x48, 0x01, 0xd6]);
}

/// The progress behind a `cmpxchg` that takes a slot.
fn if_zero(before: Progress) -> Progress {
    if before == Progress::Before { Progress::DuringIfZero } else { Progress::During }
}

/// Words 1 to 4.
fn head(writer: &mut Writer<'_>, record: &Record<'_>) {
    let mut readable = 0_u32;
    for (number, field) in (0..FIELDS as u32).zip(record.fields) {
        if memory_of(field).is_none() {
            readable |= 1_u32.wrapping_shl(number);
        }
    }
    // movl $id, 8(%rsi); movl $readable, 12(%rsi)
    let [a, b, c, d] = record.id.to_le_bytes();
    writer.emit(&[0xc7, 0x46, 8, a, b, c, d]);
    let [a, b, c, d] = readable.to_le_bytes();
    writer.emit(&[0xc7, 0x46, 12, a, b, c, d]);
    thread::time(writer, record.rdtscp);
    // mov %rax, 16(%rsi)
    writer.emit(&[0x48, 0x89, 0x46, 16]);
    if record.rdtscp {
        // mov %rcx, 32(%rsi)
        writer.emit(&[0x48, 0x89, 0x4e, 32]);
    } else {
        // movq $-1, 32(%rsi)
        writer.emit(&[0x48, 0xc7, 0x46, 32, 0xff, 0xff, 0xff, 0xff]);
    }
    thread::key(writer, record.key);
    // mov %rcx, 24(%rsi)
    writer.emit(&[0x48, 0x89, 0x4e, 24]);
}

fn fields(writer: &mut Writer<'_>, frame: &Frame, record: &Record<'_>, pc: u64) {
    let mut at = 8 * HEAD;
    for (number, field) in (0..FIELDS as u32).zip(record.fields) {
        let here = at;
        at = at.wrapping_add(8_u32.wrapping_mul(words(field)));
        if let Some(memory) = memory_of(field) {
            copy(writer, frame, &memory, number, here);
            continue;
        }
        if let Field::Stack { size, end } = *field {
            stack::copy(writer, frame, record.key, (size, end), here);
            continue;
        }
        let Some(register) = register(field).flatten() else { continue };
        let from = if register == Reg::RIP {
            // movabs $pc, %rax
            let [a, b, c, d, e, f, g, h] = pc.to_le_bytes();
            writer.emit(&[0x48, 0xb8, a, b, c, d, e, f, g, h]);
            Reg::RAX
        } else if frame.keeps(register) {
            register
        } else {
            frame.load(writer, Reg::RAX, register);
            Reg::RAX
        };
        store(writer, from, 8, here);
    }
}

/// Stores `size` low bytes of a register at an offset in the slot.
fn store(writer: &mut Writer<'_>, from: Reg, size: u8, at: u32) {
    let [a, b, c, d] = at.to_le_bytes();
    let modrm = 0x86 | (from.number() & 7) << 3;
    match size {
        1 => writer.emit(&[0x88, modrm, a, b, c, d]),
        2 => writer.emit(&[0x66, 0x89, modrm, a, b, c, d]),
        4 => writer.emit(&[0x89, modrm, a, b, c, d]),
        _ => writer.emit(&[0x48 | from.number() >> 3 << 2, 0x89, modrm, a, b, c, d]),
    }
}

/// Copies memory into the slot, and notes that it could be read.
fn copy(writer: &mut Writer<'_>, frame: &Frame, memory: &Memory, number: u32, at: u32) {
    if !(1..=64).contains(&memory.size) {
        return writer.refuse(Refusal::NoSuchSize);
    }
    let mut unreadable = Label::NEW;
    memory::address(writer, frame, memory, &mut unreadable);
    let mut offset = 0;
    while offset < memory.size {
        let size = match memory.size.wrapping_sub(offset) {
            8.. => 8,
            4.. => 4,
            2.. => 2,
            _ => 1,
        };
        memory::load(writer, offset, size, &mut unreadable);
        store(writer, Reg::RAX, size, at.wrapping_add(offset.into()));
        offset = offset.wrapping_add(size);
    }
    // orl $bit, 12(%rsi)
    let [a, b, c, d] = 1_u32.wrapping_shl(number).to_le_bytes();
    writer.emit(&[0x81, 0x4e, 12, a, b, c, d]);
    writer.bind(&mut unreadable);
}
