//! iced-x86.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory};

use crate::tally::Tally;

pub(super) const NAME: &str = "iced-x86";
pub(super) const FLOW: &str = "iced-x86, + flow, target";
pub(super) const FULL: &str = "iced-x86, + InstructionInfo";

pub(super) fn length(code: &[u8], tally: &mut Tally) {
    sweep(code, tally, |instruction| instruction.len() as u64);
}

pub(super) fn flow(code: &[u8], tally: &mut Tally) {
    sweep(code, tally, flow_and_target);
}

pub(super) fn full(code: &[u8], tally: &mut Tally) {
    let mut factory = InstructionInfoFactory::new();
    sweep(code, tally, |instruction| {
        let info = factory.info(instruction);
        let registers = info.used_registers().iter().fold(0, |sum, used| sum ^ used.register() as u64);
        let flags = instruction.rflags_read() ^ instruction.rflags_modified().rotate_left(1);
        flow_and_target(instruction) ^ registers ^ u64::from(flags)
    });
}

pub(super) fn one_shot(code: &[u8], starts: &[u32], tally: &mut Tally) {
    each(code, starts, tally, |instruction| instruction.len() as u64);
}

pub(super) fn one_shot_flow(code: &[u8], starts: &[u32], tally: &mut Tally) {
    each(code, starts, tally, flow_and_target);
}

/// Where instructions start.
pub(super) fn starts(code: &[u8]) -> Vec<u32> {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut starts = Vec::new();
    while decoder.can_decode() {
        let position = decoder.position();
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            one_byte_on(&mut decoder, position);
        } else {
            starts.push(position as u32);
        }
    }
    starts
}

#[inline(always)]
fn sweep(code: &[u8], tally: &mut Tally, mut value: impl FnMut(&Instruction) -> u64) {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let position = decoder.position();
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            one_byte_on(&mut decoder, position);
        } else {
            tally.add(value(&instruction));
        }
    }
}

#[inline(always)]
fn each(code: &[u8], starts: &[u32], tally: &mut Tally, value: impl Fn(&Instruction) -> u64) {
    for &start in starts {
        let rest = code.get(start as usize..).unwrap_or_default();
        let instruction = Decoder::new(64, rest, DecoderOptions::NONE).decode();
        if !instruction.is_invalid() {
            tally.add(value(&instruction));
        }
    }
}

#[cold]
fn one_byte_on(decoder: &mut Decoder<'_>, position: usize) {
    // Fails only past the end, and there `can_decode` ends the sweep.
    let _ = decoder.set_position(position + 1);
}

#[inline(always)]
fn flow_and_target(instruction: &Instruction) -> u64 {
    let flow = instruction.flow_control();
    let target = match flow {
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch | FlowControl::Call => {
            instruction.near_branch_target()
        }
        _ => 0,
    };
    instruction.len() as u64 ^ ((flow as u64) << 8) ^ target
}
