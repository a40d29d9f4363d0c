//! Copies of instructions that do at another address what the originals do.
//!
//! | instruction | code |
//! |---|---|
//! | rip-relative operand | a copy with a new displacement |
//! | `jmp`, `jcc` | the form with a displacement of 32 bits |
//! | `loop`, `jcxz` | a copy that leads to a `jmp` |
//! | `call` | `push` of the program's return address from memory, then a `jmp`; a memory operand is read before, so that it faults first |
//! | `syscall` | a copy, then `movabs` of the program's next address to rcx, which children of clone and fork run too |
//! | `xbegin` | a copy with a new distance |
//! | everything else | a copy |

use insn::x86::{Encoding, Insn, MAX_LEN, Map, Prefixes, Reg, Vendor};
use insn::{Flow, Target};

use super::Refusal;
use super::bytes::JUMP_LEN;
use super::run::{Element, MOST, Run, delays_trap};
use super::writer::{Label, State, Writer};
use crate::Progress;

/// `jmp rel32`
const JMP: &[u8] = &[0xe9];
/// Extensions of opcode ff: `jmp` and `push`. That of `call` is 2.
const JUMP: u8 = 4;
const PUSH: u8 = 6;
/// The greatest distance of an address that trampolines within 1 GiB of an instruction surely reach.
const NEAR: u64 = 1 << 29;
/// Bytes of a return address.
const ADDRESS: u16 = 8;

/// Starts of the instructions of a run in the trampoline, with their probes.
pub(super) type Starts = [Label; MOST];

/// What a relocation needs to know of its surroundings.
pub(super) struct Context<'a> {
    /// Address of the site.
    pub(super) pc: u64,
    pub(super) run: &'a Run,
    /// Whether the program's threads have shadow stacks.
    pub(super) shadow_stack: bool,
}

/// Whether every trampoline within 1 GiB of the instruction at `pc` can run it, in a program without shadow stacks. If not, only
/// [`Site::assemble`](super::Site::assemble) tells.
pub fn relocates(insn: &Insn, pc: u64) -> bool {
    let is_near = |address: u64| address.wrapping_sub(pc).wrapping_add(NEAR) < 2 * NEAR;
    let reaches = || insn.rip_relative_address(pc).is_none_or(is_near);
    let goes = || insn.target_address(pc).is_none_or(is_near) && !insn.prefixes().has(Prefixes::OPERAND_SIZE);
    match insn.flow() {
        Flow::Next => !delays_trap(insn) && !stores_own_address(insn) && reaches(),
        Flow::Jump | Flow::ConditionalJump => goes() && reaches(),
        Flow::Call if matches!(insn.target(), Target::Relative(_)) => goes(),
        Flow::Call => {
            goes() && reaches() && insn.modrm_offset().is_some() && !stores_own_address(insn) && !is_by_stack(insn)
        }
        Flow::Return => true,
        _ => false,
    }
}

/// Appends code that does what the instruction does. The writer's state is that at the instruction.
pub(super) fn relocate(
    writer: &mut Writer<'_>,
    context: &Context<'_>,
    element: &Element,
    starts: &mut Starts,
) -> Result<(), Refusal> {
    let Element { offset, insn } = *element;
    let pc = context.pc.wrapping_add(offset.into());
    let next = pc.wrapping_add(insn.len() as u64);
    let legacy = matches!(insn.encoding(), Encoding::Legacy | Encoding::Rex2);
    if legacy && stores_own_address(&insn) {
        return Err(Refusal::OwnAddress(offset));
    }
    // Intel's processors ignore the prefix (SDM vol. 2A, 2.2.1.7); AMD's obey it unless REX.W is set (APM vol. 3, 1.2.7).
    let narrow = insn.mode().vendor == Vendor::Amd && insn.prefixes().has(Prefixes::OPERAND_SIZE) && !insn.w();
    match (insn.flow(), insn.target()) {
        (Flow::Jump | Flow::ConditionalJump | Flow::Call, Target::Relative(_)) if narrow => {
            Err(Refusal::NarrowBranch(offset))
        }
        // `push` obeys the prefix everywhere.
        (Flow::Call, _) if insn.prefixes().has(Prefixes::OPERAND_SIZE) => Err(Refusal::NarrowBranch(offset)),
        (Flow::Call, _) if context.shadow_stack => Err(Refusal::ShadowStack(offset)),
        (Flow::Jump, Target::Relative(distance)) => {
            go(writer, context, starts, JMP, next.wrapping_add_signed(distance));
            Ok(())
        }
        (Flow::ConditionalJump, Target::Relative(distance)) => {
            conditional(writer, context, &insn, starts, next, next.wrapping_add_signed(distance));
            Ok(())
        }
        (Flow::Call, Target::Relative(distance)) => {
            push_return(writer, next);
            let target = next.wrapping_add_signed(distance);
            writer.state = State::at(target, Progress::Before);
            go(writer, context, starts, JMP, target);
            Ok(())
        }
        (Flow::Call, _) => call_indirect(writer, &insn, offset, pc, next),
        (Flow::Syscall, _) => {
            restartable(writer, &insn, pc);
            if insn.opcode() == 0x05 {
                writer.state = State { register: Some((Reg::RCX, next)), ..State::at(next, Progress::Before) };
                // movabs $next, %rcx
                let [a, b, c, d, e, f, g, h] = next.to_le_bytes();
                writer.emit(&[0x48, 0xb9, a, b, c, d, e, f, g, h]);
            }
            Ok(())
        }
        (Flow::Interrupt, _) => {
            restartable(writer, &insn, pc);
            Ok(())
        }
        (Flow::Transaction, Target::Relative(distance)) => {
            let Some(field) = insn.immediate().filter(|field| field.size == 4) else {
                return Err(Refusal::NarrowBranch(offset));
            };
            let opcode = insn.bytes().get(..usize::from(field.offset)).unwrap_or_default();
            go(writer, context, starts, opcode, next.wrapping_add_signed(distance));
            Ok(())
        }
        _ => {
            let mut bytes = [0; MAX_LEN];
            copy(writer, &insn, pc, copied(&mut bytes, &insn));
            Ok(())
        }
    }
}

/// Far calls, and `enclu`, which passes the address of the next instruction to the enclave (SDM vol. 3D, EENTER).
fn stores_own_address(insn: &Insn) -> bool {
    let extension = insn.modrm().map(|modrm| modrm >> 3 & 7);
    match (insn.map(), insn.opcode()) {
        (Map::OneByte, 0xff) => extension == Some(3),
        (Map::OneByte, 0x9a) => true,
        (Map::M0F, 0x01) => insn.modrm() == Some(0xd7),
        _ => false,
    }
}

/// A branch to an address of the program: within the run, but to the site, it leads to the instruction's place in the trampoline.
fn go(writer: &mut Writer<'_>, context: &Context<'_>, starts: &mut Starts, opcode: &[u8], to: u64) {
    let distance = to.wrapping_sub(context.pc);
    let elements = context.run.elements.iter().zip(starts.iter_mut());
    let inside = elements
        .filter_map(|(element, start)| Some((element.as_ref()?, start)))
        .find(|(element, _)| u64::from(element.offset) == distance && distance != 0);
    match inside {
        Some((_, start)) => writer.jump(opcode, start),
        None => writer.jump_out(opcode, to),
    }
}

fn conditional(
    writer: &mut Writer<'_>,
    context: &Context<'_>,
    insn: &Insn,
    starts: &mut Starts,
    next: u64,
    target: u64,
) {
    if insn.map() != Map::OneByte || insn.opcode() & 0xf0 == 0x70 {
        return go(writer, context, starts, &[0x0f, 0x80 | insn.opcode() & 15], target);
    }
    // `loop` over the next jump; jmp to the next instruction over five bytes; jmp target
    let mut bytes = [0; MAX_LEN];
    let copy = copied(&mut bytes, insn);
    if let Some(distance) = copy.last_mut() {
        *distance = 2;
    }
    writer.emit(copy);
    writer.state = State::at(next, Progress::Before);
    writer.emit(&[0xeb, JUMP_LEN as u8]);
    writer.state = State::at(target, Progress::Before);
    go(writer, context, starts, JMP, target);
}

/// `push` of the return address. If it faults, nothing has changed, as with the call.
fn push_return(writer: &mut Writer<'_>, next: u64) {
    writer.emit_constant(&[0xff], 6, next);
}

/// A call through a register or memory: the return address is pushed first, and a memory operand that uses the stack pointer is corrected.
fn call_indirect(writer: &mut Writer<'_>, insn: &Insn, offset: u8, pc: u64, next: u64) -> Result<(), Refusal> {
    let refusal = Refusal::CallThroughStack(offset);
    let memory = insn.memory();
    let by_stack = is_by_stack(insn);
    if by_stack {
        let moved = memory.filter(|memory| memory.index.is_none() && !(-15..0).contains(&memory.displacement));
        moved.ok_or(refusal)?;
    }
    let mut bytes = [0; MAX_LEN];
    let copy_of = copied(&mut bytes, insn);
    let modrm_offset = insn.modrm_offset().ok_or(refusal)?;
    if memory.is_some() {
        // `push` of the operand faults as the call does, before anything has changed. lea 8(%rsp), %rsp
        *copy_of.get_mut(modrm_offset).ok_or(refusal)? = with_extension(insn, PUSH);
        copy(writer, insn, pc, copy_of);
        writer.state.stack = ADDRESS;
        writer.emit(&[0x48, 0x8d, 0x64, 0x24, ADDRESS as u8]);
        writer.state.stack = 0;
    }
    push_return(writer, next);
    writer.state.stack = ADDRESS;
    let modrm = copy_of.get_mut(modrm_offset).ok_or(refusal)?;
    *modrm = with_extension(insn, JUMP);
    if !by_stack {
        copy(writer, insn, pc, copy_of);
        return Ok(());
    }
    // The displacement is eight more, in 32 bits.
    *modrm = *modrm & 0x3f | 0x80;
    let displacement = memory.map_or(0, |memory| memory.displacement).wrapping_add(ADDRESS.into());
    let displacement = i32::try_from(displacement).map_err(|_| refusal)?;
    writer.mark();
    writer.push(copy_of.get(..modrm_offset.wrapping_add(2)).unwrap_or_default());
    writer.push(&displacement.to_le_bytes());
    Ok(())
}

/// Whether the target of a call through a register or memory depends on the stack pointer.
fn is_by_stack(insn: &Insn) -> bool {
    match insn.memory() {
        Some(memory) => memory.base == Some(Reg::RSP),
        None => insn.target() == Target::Register(Reg::RSP),
    }
}

/// The instruction's modrm byte with another extension of its opcode.
fn with_extension(insn: &Insn, extension: u8) -> u8 {
    insn.modrm().unwrap_or_default() & !0x38 | extension << 3
}

/// A system call or software interrupt. The kernel returns to its last two bytes to restart it (arch/x86/kernel/signal.c, `handle_signal`).
fn restartable(writer: &mut Writer<'_>, insn: &Insn, pc: u64) {
    let prefixes = insn.len().saturating_sub(2);
    writer.mark();
    let (first, last) = insn.bytes().split_at_checked(prefixes).unwrap_or_default();
    writer.push(first);
    if prefixes > 0 {
        writer.state = State::at(pc.wrapping_add(prefixes as u64), Progress::Before);
        writer.mark();
    }
    writer.push(last);
}

fn copied<'a>(bytes: &'a mut [u8; MAX_LEN], insn: &Insn) -> &'a mut [u8] {
    for (to, from) in bytes.iter_mut().zip(insn.bytes()) {
        *to = *from;
    }
    bytes.get_mut(..insn.len()).unwrap_or_default()
}

/// Appends a copy, whose bytes may differ from the instruction's in modrm.reg, with a new displacement where the operand is rip-relative.
fn copy(writer: &mut Writer<'_>, insn: &Insn, pc: u64, bytes: &mut [u8]) {
    let displacement = insn.displacement().map(|field| usize::from(field.offset));
    if let (Some(operand), Some(at)) = (insn.rip_relative_address(pc), displacement) {
        let end = writer.here().wrapping_add(insn.len() as u64);
        // With prefix 67 the address is truncated to 32 bits, so that every operand is within reach.
        let distance =
            if insn.address_size() == 4 { operand.wrapping_sub(end) as i32 } else { writer.distance(end, operand) };
        for (to, from) in bytes.iter_mut().skip(at).zip(distance.to_le_bytes()) {
            *to = from;
        }
    }
    writer.emit(bytes);
}
