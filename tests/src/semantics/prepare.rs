//! Makes of a random state one from which the instruction is likely to complete: addresses lead into the windows, branches
//! to `int3`, selectors and saved states are valid. Now and then an operand lies at the end of its window.

use insn::x86::{Bits, Encoding, Flags, Insn, Map, Memory, Prefixes, Reg};
use insn::{Flow, Target};

use super::extent::{base, effective, is_bit_string, is_string, is_xlat, linear, mask};
use crate::Random;
use crate::lockstep::{
    CODE_SIZE, DATA_SIZE, IMAGE_INT3, LOW_SIZE, Lab, SITE, STACK_SIZE, State, component_element, component_range,
};

/// User selectors of Linux, for 64-bit code, 32-bit code and data (arch/x86/include/asm/segment.h), and null ones.
const SELECTORS: &[u64] = &[0x33, 0x23, 0x2b, 0x2b, 0x2b, 0, 3];

/// A random state in front of the lab's site from which the instruction is likely to complete, without the trap flag.
pub fn state_for(lab: &Lab, insn: &Insn, rng: &mut Random) -> State {
    let mut state = lab.random_state(rng);
    prepare(insn, &mut state, rng);
    state.regs.eflags &= !u64::from(Flags::TF.bits());
    state
}

/// Changes `state` for `insn`.
pub(super) fn prepare(insn: &Insn, state: &mut State, rng: &mut Random) {
    environment(insn, state, rng);
    if rng.one_in(3) {
        numbers(state, rng);
    }
    registers(insn, state, rng);
    for memory in insn.implicit_memory().into_iter().flatten().filter(|memory| memory.base != Some(Reg::RSP)) {
        lead(insn, &memory, state, rng);
    }
    if let Some(memory) = insn.memory() {
        lead(insn, &memory, state, rng);
    }
    if is_string(insn) && insn.prefixes().has(Prefixes::REP | Prefixes::REPNE) {
        state.regs.rcx = state.regs.rcx & !mask(insn.address_size()) | rng.below(40);
    }
    flow(insn, state, rng);
    contents(insn, state, rng);
    if insn.mode().bits == Bits::B32 {
        for number in 0..8 {
            *state.gpr_mut(number) &= 0xffff_ffff;
        }
    }
}

/// Rounding, sticky flags, exceptions, alignment checks.
fn environment(insn: &Insn, state: &mut State, rng: &mut Random) {
    if rng.one_in(3) {
        // Rounding, flushes to zero, flags raised before.
        state.set_mxcsr(0x1f80 | rng.next() as u32 & 0xe07f);
    }
    if rng.one_in(16) {
        state.set_mxcsr(rng.next() as u32 & 0xff80);
    }
    if rng.one_in(3) {
        // Precision and rounding of the x87.
        let control = 0x7f | rng.next() as u16 & 0xf00;
        state.xstate[0..2].copy_from_slice(&control.to_le_bytes());
    }
    if rng.one_in(16) {
        let control = rng.next() as u16 & 0xf3f | 0x40;
        state.xstate[0..2].copy_from_slice(&control.to_le_bytes());
    }
    if rng.one_in(16) {
        state.regs.eflags |= 1 << 18;
    }
    if rng.one_in(16) {
        // Nested task, identification, trap: the probe steps far calls itself (displaced.rs has them with the flag).
        let trap = if insn.flow() == Flow::Far { 0 } else { 1 << 8 };
        state.regs.eflags |= rng.one_of(&[trap, 1 << 14, 1 << 21]);
    }
    if rng.one_in(8) {
        state.regs.rsp += rng.below(8);
    }
    if rng.one_in(24) {
        state.regs.rsp = state.layout.stack + rng.one_of(&[0, 2, 4, 8, STACK_SIZE - 8, STACK_SIZE - 4, STACK_SIZE]);
    }
}

/// Puts numbers that arithmetic treats in a way of their own, in all formats, among the vectors and into memory.
fn numbers(state: &mut State, rng: &mut Random) {
    // Zeroes, denormals, infinities, NaNs, ones, extremes of single, double and half precision and of integers.
    const WORDS: [u64; 16] = [
        0,
        0x8000_0000_0000_0000,
        0x8000_0000_8000_0000,
        0x0000_0001_0000_0001,
        0x000f_0001_0051_2345,
        0x800f_0001_8051_2345,
        0x7f80_0000_7f80_0000,
        0xff80_0000_7fc0_0000,
        0x7ff0_0000_0000_0000,
        0xfff8_0000_0000_0000,
        0x7ff4_0000_7fa0_0000,
        0x3ff0_0000_0000_0000,
        0x3f80_0000_3f80_0000,
        0x7c00_3c00_0001_fe00,
        0x7fff_ffff_7fff_ffff,
        u64::MAX,
    ];
    let vectors = (160..416).chain((2..8).filter(|component| *component != 5).filter_map(component_range).flatten());
    let offsets: Vec<usize> = vectors.step_by(8).collect();
    for offset in offsets {
        if let Some(word) = state.xstate.get_mut(offset..offset + 8).filter(|_| rng.one_in(2)) {
            word.copy_from_slice(&rng.one_of(&WORDS).to_le_bytes());
        }
    }
    for (_, window) in state.windows_mut() {
        for word in window.chunks_exact_mut(8).step_by(2) {
            word.copy_from_slice(&rng.one_of(&WORDS).to_le_bytes());
        }
    }
}

/// Values that some instructions want.
fn registers(insn: &Insn, state: &mut State, rng: &mut Random) {
    let legacy = insn.encoding() == Encoding::Legacy;
    let extension = insn.modrm().map(|modrm| modrm >> 3 & 7);
    match (insn.map(), insn.opcode()) {
        // Quotients that fit.
        (Map::OneByte, 0xf6 | 0xf7) if legacy && extension >= Some(6) && rng.one_in(2) => {
            state.regs.rdx = 0;
            state.regs.rax >>= rng.below(64);
        }
        // Numbers that no system call has.
        (Map::OneByte, 0xcd) | (Map::M0F, 0x05) if legacy => state.regs.rax = 0x2000_0000 | rng.below(0x1000),
        (Map::OneByte, 0x8e) | (Map::M0F, 0x00 | 0x02 | 0x03) if legacy && rng.one_in(2) => {
            *state.gpr_mut(insn.rm()) = rng.one_of(SELECTORS);
        }
        // Counts that run out.
        (Map::OneByte, 0xe0..=0xe3) if legacy && rng.one_in(2) => {
            let used = mask(insn.address_size());
            state.regs.rcx = state.regs.rcx & !used | rng.below(3);
        }
        // Leaves that there are.
        (Map::M0F, 0xa2) if legacy => {
            state.regs.rax = rng.below(32) | rng.below(2) << 31;
            state.regs.rcx = rng.below(20);
        }
        // xgetbv, and what the state components are named by.
        (Map::M0F, 0x01) if legacy => state.regs.rcx = rng.below(2),
        (Map::M0F, 0xae | 0xc7) if legacy && rng.one_in(2) => state.regs.rax &= 0xff,
        _ if is_bit_string(insn) => {
            *state.gpr_mut(insn.reg()) = rng.below(0x2000).wrapping_sub(0x1000);
        }
        _ => {}
    }
}

/// Sets the base register so that the operand lies in a window.
fn lead(insn: &Insn, memory: &Memory, state: &mut State, rng: &mut Random) {
    let Some(number) = memory.base.and_then(Reg::as_gpr) else { return };
    if let Some(vector) = memory.index.filter(|index| index.as_gpr().is_none()) {
        small_indices(vector.number() - Reg::vector(0).number(), state, rng);
    }
    let layout = state.layout;
    let wide = insn.mode().bits == Bits::B64;
    let (window, len) = match memory.address_size {
        // Only with the base of fs or gs.
        2 => (layout.data + 0x1000, 0x800),
        4 if wide && base(memory, state) == 0 => (layout.low, LOW_SIZE),
        4 if wide => (base(memory, state), 0x1000),
        _ => (layout.data, DATA_SIZE),
    };
    let size = if memory.size == 0 { 0x400 } else { u64::from(memory.size) };
    let room = len.saturating_sub(size);
    let target = match rng.below(24) {
        0 | 1 => window + room,
        2 => window + room + 1,
        3 => window,
        4..=12 => (window + rng.below(room)) & !63,
        _ => window + room / 4 + rng.below(room / 2),
    };
    let wanted = target.wrapping_sub(base(memory, state)) & mask(memory.address_size);
    let found = effective(insn, memory, state);
    let times = match memory.index {
        Some(index) if index == Reg::gpr(number) && !is_xlat(insn) => 1 + u64::from(memory.scale),
        _ => 1,
    };
    let register = state.gpr_mut(number);
    let distance = wanted.wrapping_sub(found);
    let value = register.wrapping_add((distance as i64 / times as i64) as u64);
    // What the address does not use stays.
    let used = mask(memory.address_size);
    *register = *register & !used | value & used;
}

/// Indices of a gather or scatter that stay in the window.
fn small_indices(vector: u8, state: &mut State, rng: &mut Random) {
    let vector = usize::from(vector & 31);
    let parts: &[(usize, usize)] = if vector < 16 {
        &[(160 + 16 * vector, 16), component_element(2, vector, 16), component_element(6, vector, 32)]
    } else {
        &[component_element(7, vector - 16, 64)]
    };
    for (start, len) in parts {
        let Some(bytes) = state.xstate.get_mut(*start..start + len) else { continue };
        for element in bytes.chunks_mut(8) {
            element.copy_from_slice(&rng.below(0x200).to_le_bytes());
        }
    }
}

/// An address in the code window at which `int3` stands.
fn code(state: &State, rng: &mut Random) -> u64 {
    let offset = rng.below(CODE_SIZE);
    let offset = if (SITE - 32..SITE + 32).contains(&offset) { 0 } else { offset };
    state.layout.code + offset
}

/// Where branches go.
fn flow(insn: &Insn, state: &mut State, rng: &mut Random) {
    let to = code(state, rng);
    if rng.one_in(4) {
        return;
    }
    match insn.target() {
        Target::Register(register) => {
            if let Some(number) = register.as_gpr() {
                *state.gpr_mut(number) = to;
            }
        }
        Target::Memory => {
            if let Some(memory) = insn.memory() {
                let at = linear(insn, &memory, state);
                let far = insn.flow() == Flow::Far;
                poke(state, at, &if far { far_pointer(insn, to) } else { to.to_le_bytes().to_vec() });
            }
        }
        Target::Stack | Target::None if matches!(insn.flow(), Flow::Return | Flow::Far) => frame(insn, to, state, rng),
        _ => {}
    }
}

/// Offset and selector of a code segment, to an `int3` below 4 GiB.
fn far_pointer(insn: &Insn, to: u64) -> Vec<u8> {
    let wide = insn.mode().bits == Bits::B64;
    let to = if wide { IMAGE_INT3 } else { to };
    let size = usize::from(insn.operand_size().clamp(2, 8));
    let mut bytes = to.to_le_bytes()[..size].to_vec();
    bytes.extend((if wide { 0x33_u16 } else { 0x23 }).to_le_bytes());
    bytes
}

/// What returns pop: an address, and for those that change segments a selector, flags and a stack.
fn frame(insn: &Insn, to: u64, state: &mut State, rng: &mut Random) {
    let wide = insn.mode().bits == Bits::B64;
    let size = usize::from(insn.operand_size().clamp(2, 8));
    let selector: u64 = if wide { 0x33 } else { 0x23 };
    let stack = state.layout.stack + STACK_SIZE / 2;
    let words = if insn.flow() == Flow::Return {
        vec![to]
    } else {
        vec![to, selector, 0x202 | rng.next() & 0xcd5, stack, 0x2b]
    };
    // From far code only addresses of the operand's size come back.
    let words = if size < 8 && wide && insn.flow() == Flow::Far {
        vec![IMAGE_INT3, selector, 0x202, stack, 0x2b]
    } else {
        words
    };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()[..size].to_vec()).collect();
    poke(state, state.regs.rsp, &bytes);
}

/// What is read: selectors, control words, saved states.
fn contents(insn: &Insn, state: &mut State, rng: &mut Random) {
    if insn.encoding() != Encoding::Legacy || rng.one_in(4) {
        return;
    }
    let operand = insn.memory().map(|memory| linear(insn, &memory, state));
    let extension = insn.modrm().map_or(0, |modrm| modrm >> 3 & 7);
    let selector = rng.one_of(SELECTORS).to_le_bytes();
    match (insn.map(), insn.opcode(), operand) {
        (Map::OneByte, 0x07 | 0x17 | 0x1f, _) | (Map::M0F, 0xa1 | 0xa9, _) => poke(state, state.regs.rsp, &selector),
        (Map::OneByte, 0x8e, Some(at)) | (Map::M0F, 0x00 | 0x02 | 0x03, Some(at)) => poke(state, at, &selector[..2]),
        (Map::OneByte, 0xc4 | 0xc5, Some(at)) | (Map::M0F, 0xb2 | 0xb4 | 0xb5, Some(at)) => {
            poke(state, at + u64::from(insn.operand_size()), &selector[..2]);
        }
        // fxrstor, ldmxcsr, xrstor.
        (Map::M0F, 0xae, Some(at)) => {
            let image = state.xstate.clone();
            match extension {
                1 => poke(state, at, &image[..512]),
                2 => poke(state, at, &(rng.next() as u32 & 0xffff).to_le_bytes()),
                5 => {
                    poke(state, at, &image[..512]);
                    poke(state, at + 512, &image[512..520]);
                    poke(state, at + 520, &[0; 56]);
                    poke(state, at + 576, &image[576..]);
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// Puts as much of `bytes` at the address as its window holds.
fn poke(state: &mut State, address: u64, bytes: &[u8]) {
    for (start, window) in state.windows_mut() {
        if let Some(offset) = address.checked_sub(start).filter(|offset| *offset < window.len() as u64) {
            let offset = offset as usize;
            let len = bytes.len().min(window.len() - offset);
            window[offset..offset + len].copy_from_slice(&bytes[..len]);
        }
    }
}
