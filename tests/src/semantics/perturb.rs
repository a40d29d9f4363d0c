//! Whether the sets that `insn` reports hold: what is not read must not matter, what is not written must not change.

use insn::Flow;
use insn::x86::{Bits, Effects, Flags, Insn, Reg};

use super::extent::{Extent, looked_at};
use super::view::{View, WIDEST, change, registers};
use crate::Random;
use crate::lockstep::{Ending, State, Stop};

/// Flags that can be changed without another meaning: not those that trap or check alignment.
pub(super) const FREE: Flags = Flags::STATUS.union(Flags::DF);

/// A run: state before and end.
pub(super) struct Run<'a> {
    pub(super) before: &'a State,
    pub(super) end: &'a Ending,
}

/// `state` with all that the instruction does not read changed.
pub(super) fn unread_changed(
    insn: &Insn,
    effects: &Effects,
    state: &State,
    extents: &[Extent],
    rng: &mut Random,
) -> State {
    let mut other = state.clone();
    let wide = insn.mode().bits == Bits::B64;
    let flags = Flags::from_bits(FREE.bits() & !effects.flags_read.bits());
    change(&mut other, Reg::FLAGS, flags, wide, rng);
    for reg in registers().filter(|reg| *reg != Reg::FLAGS && !effects.reads.contains(*reg)) {
        change(&mut other, reg, Flags::EMPTY, wide, rng);
    }
    if extents.iter().any(|extent| extent.is_read() && extent.len == u64::MAX) {
        return other;
    }
    for ((start, window), (_, original)) in other.windows_mut().into_iter().zip(state.windows()) {
        let pattern = rng.next();
        for word in window.chunks_exact_mut(8) {
            for (byte, change) in word.iter_mut().zip(pattern.to_le_bytes()) {
                *byte ^= change;
            }
        }
        for extent in extents.iter().filter(|extent| extent.is_read()) {
            let from = extent.start.max(start);
            let to = extent.start.saturating_add(extent.len).min(start + window.len() as u64);
            if from < to {
                let range = (from - start) as usize..(to - start) as usize;
                window[range.clone()].copy_from_slice(&original[range]);
            }
        }
    }
    other
}

/// What changed in a run and should not have.
pub(super) fn unwritten(insn: &Insn, effects: &Effects, run: &Run<'_>, extents: &[Extent]) -> Vec<String> {
    let Some(after) = &run.end.state else { return Vec::new() };
    let mut out = Vec::new();
    let (old, new) = (View::of(run.before), View::of(after));
    for reg in registers() {
        let allowed = match reg {
            Reg::FLAGS => u64::from(effects.flags_written.bits()),
            _ if effects.writes.contains(reg) => continue,
            // The kernel's answer.
            Reg::RAX if matches!(insn.flow(), Flow::Syscall | Flow::Interrupt) => continue,
            _ => 0,
        };
        let (a, b) = (old.value(reg), new.value(reg));
        if reg == Reg::FLAGS {
            let changed = (word(a) ^ word(b)) & !allowed;
            if changed != 0 {
                out.push(format!("{:?} not reported as written", Flags::from_bits(changed as u32)));
            }
        } else if a != b {
            out.push(format!("{reg} not reported as written: {} became {}", hex(a), hex(b)));
        }
    }
    for ((start, old), (_, new)) in run.before.windows().into_iter().zip(after.windows()) {
        if old == new {
            continue;
        }
        let written = |at: u64| extents.iter().any(|extent| extent.is_written() && extent.contains(at));
        let stray = old.iter().zip(new).enumerate().find(|(at, (a, b))| a != b && !written(start + *at as u64));
        if let Some((at, _)) = stray {
            out.push(format!("memory at {:#x} not reported as written; {extents:x?}", start + at as u64));
        }
    }
    if let Stop::Signal { number: libc::SIGSEGV, code: 1 | 2, address } = run.end.stop {
        let fetched = after.regs.rip == address;
        let page = |at: u64| at & !0xfff;
        let looked_at = looked_at(insn, effects, run.before);
        let reported = extents.iter().chain(&looked_at).any(|extent| {
            extent.contains(address)
                || page(address) == address && page(extent.start.wrapping_add(extent.len - 1)) == address
        });
        if !fetched && !reported {
            out.push(format!("fault at {address:#x}, not reported as accessed; {extents:x?}"));
        }
    }
    let site = run.before.regs.rip;
    let next = site + insn.len() as u64;
    if !effects.writes.contains(Reg::RIP)
        && insn.flow() != Flow::Trap
        && ![site, next, next + 1].contains(&after.regs.rip)
    {
        out.push(format!("rip not reported as written: {:#x}", after.regs.rip));
    }
    out
}

/// The differences of two runs whose first states differ only in what the instruction does not read. A partial write keeps the rest.
pub(super) fn unread_matters(insn: &Insn, effects: &Effects, first: &Run<'_>, second: &Run<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if first.end.stop != second.end.stop {
        out.push(format!("{:?} became {:?} by what is not reported as read", first.end.stop, second.end.stop));
    }
    let (Some(a), Some(b)) = (&first.end.state, &second.end.state) else { return out };
    if a.regs.rip != b.regs.rip {
        out.push(format!("rip {:#x} became {:#x} by what is not reported as read", a.regs.rip, b.regs.rip));
    }
    let views = [first.before, a, second.before, b].map(View::of);
    let wide = insn.mode().bits == Bits::B64;
    let completed = matches!(first.end.stop, Stop::Signal { number: libc::SIGTRAP, .. });
    for reg in registers() {
        let [old, new, other_old, other_new] = views.each_ref().map(|view| view.value(reg));
        let kept = old == new && other_old == other_new;
        if !kept && !same_or_kept(old, new, other_old, other_new) {
            out.push(format!("{reg} became {} and {} by what is not reported as read", hex(new), hex(other_new)));
        }
        // A byte may be written what it was, in a vector register too.
        let is_inserted = (32..64).contains(&reg.number()) && !effects.overwrites_low.contains(reg);
        let whole = completed
            && old != other_old
            && effects.operand_size > 1
            && !is_inserted
            && ![Reg::FLAGS, Reg::X87].contains(&reg);
        let reachable = wide || !(40..64).contains(&reg.number());
        if kept && whole && reachable && effects.writes.contains(reg) && !effects.reads.contains(reg) {
            out.push(format!("{reg} survives in whole, and is not reported as read"));
        }
    }
    let [olds, news] = [first.before, a].map(State::windows);
    let [other_olds, other_news] = [second.before, b].map(State::windows);
    for window in 0..olds.len() {
        let (start, old) = olds[window];
        let (new, other_old, other_new) = (news[window].1, other_olds[window].1, other_news[window].1);
        if old == new && other_old == other_new {
            continue;
        }
        let matters = |at: &usize| !bits_kept(old[*at], new[*at], other_old[*at], other_new[*at]);
        if let Some(at) = (0..old.len()).find(matters) {
            let (address, first, second) = (start + at as u64, new[at], other_new[at]);
            out.push(format!(
                "memory at {address:#x} became {first:02x} and {second:02x} by what is not reported as read"
            ));
        }
    }
    out
}

/// The registers and flags that `insn` reports as overwritten and whose old values outlive the instruction. The states before the two runs
/// differ only in what the instruction does not read.
pub(super) fn outlives(effects: &Effects, first: &Run<'_>, second: &Run<'_>) -> Vec<String> {
    let Some([(_, a), (_, b)]) = completed(first, second) else { return Vec::new() };
    let mut out = Vec::new();
    for reg in effects.overwrites.union(effects.overwrites_low).iter() {
        let len = if effects.overwrites.contains(reg) { WIDEST } else { 16 };
        let (a, b) = (a.value(reg), b.value(reg));
        if a[..len] != b[..len] {
            out.push(format!("{reg} became {} and {}, and is reported as overwritten", hex(a), hex(b)));
        }
    }
    let differ = Flags::from_bits((word(a.value(Reg::FLAGS)) ^ word(b.value(Reg::FLAGS))) as u32);
    let outlived = Flags::from_bits(differ.bits() & effects.flags_overwritten.bits());
    if !outlived.is_empty() {
        out.push(format!("{outlived:?} reported as overwritten"));
    }
    out
}

/// The registers before and after two runs; `None` unless both completed the instruction.
pub(super) fn completed(first: &Run<'_>, second: &Run<'_>) -> Option<[(View, View); 2]> {
    let view = |run: &Run<'_>| {
        let is_complete = matches!(run.end.stop, Stop::Signal { number: libc::SIGTRAP, .. });
        let after = run.end.state.as_ref().filter(|_| is_complete)?;
        Some((View::of(run.before), View::of(after)))
    };
    Some([view(first)?, view(second)?])
}

/// Whether two runs ended alike but for a register that differed before and that neither changed.
pub(super) fn same_outcome(changed: Reg, first: &Run<'_>, second: &Run<'_>) -> bool {
    let (Some(a), Some(b)) = (&first.end.state, &second.end.state) else { return false };
    if first.end.stop != second.end.stop || a.regs.rip != b.regs.rip {
        return false;
    }
    let views = [first.before, a, second.before, b].map(View::of);
    let same = registers().all(|reg| {
        let [old, new, other_old, other_new] = views.each_ref().map(|view| view.value(reg));
        new == other_new || reg == changed && old == new && other_old == other_new
    });
    same && a.windows() == b.windows()
}

/// Each bit is the same in both runs, or is in both what it was before.
fn same_or_kept(old: &[u8; WIDEST], new: &[u8; WIDEST], other_old: &[u8; WIDEST], other_new: &[u8; WIDEST]) -> bool {
    (0..WIDEST).all(|at| bits_kept(old[at], new[at], other_old[at], other_new[at]))
}

fn bits_kept(old: u8, new: u8, other_old: u8, other_new: u8) -> bool {
    (new ^ other_new) & (old ^ new | other_old ^ other_new) == 0
}

pub(super) fn word(value: &[u8; WIDEST]) -> u64 {
    value.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

fn hex(value: &[u8; WIDEST]) -> String {
    let len = value.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    value[..len].iter().rev().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use insn::x86::{Insn, decode};

    use super::super::extent::extents;
    use super::*;
    use crate::lockstep::Lab;

    /// The faults found in these sets of an instruction, from several states. rbx points into the data; rcx is 0 in every other state.
    fn found(bytes: &[u8], spoil: impl Fn(&mut Effects, &mut Vec<Extent>)) -> Vec<String> {
        let mut lab = Lab::x86_64();
        let insn: Insn = decode(bytes, lab.mode()).expect("an instruction");
        let mut rng = Random::new(1);
        let mut out = Vec::new();
        for turn in 0..8 {
            let mut state = lab.random_state(&mut rng);
            state.regs.rbx = state.layout.data + 64;
            if turn % 2 == 0 {
                state.regs.rcx = 0;
            }
            let (mut effects, mut extents) = (insn.effects(), extents(&insn, &state));
            spoil(&mut effects, &mut extents);
            let end = lab.in_place(&insn, &state).expect("the child lives");
            let first = Run { before: &state, end: &end };
            out.extend(unwritten(&insn, &effects, &first, &extents));
            let other = unread_changed(&insn, &effects, &state, &extents, &mut rng);
            let other_end = lab.in_place(&insn, &other).expect("the child lives");
            let second = Run { before: &other, end: &other_end };
            out.extend(unread_matters(&insn, &effects, &first, &second));
            out.extend(outlives(&effects, &first, &second));
        }
        out
    }

    // adc [rbx], rcx
    const ADD_CARRY: &[u8] = &[0x48, 0x11, 0x0b];

    #[test]
    fn sets_that_hold_are_not_found_wrong() {
        assert_eq!(found(ADD_CARRY, |_, _| ()), Vec::<String>::new());
    }

    #[test]
    fn a_register_missing_from_either_set_is_found() {
        assert!(!found(ADD_CARRY, |effects, _| effects.reads = effects.reads.without(Reg::RCX)).is_empty());
        // imul rax, rcx
        let multiply = [0x48, 0x0f, 0xaf, 0xc1];
        assert!(!found(&multiply, |effects, _| effects.writes = effects.writes.without(Reg::RAX)).is_empty());
        // divps xmm0, xmm1
        let divide = [0x0f, 0x5e, 0xc1];
        assert!(!found(&divide, |effects, _| effects.reads = effects.reads.without(Reg::MXCSR)).is_empty());
        assert!(!found(&divide, |effects, _| effects.writes = effects.writes.without(Reg::vector(0))).is_empty());
    }

    #[test]
    fn a_flag_missing_from_either_set_is_found() {
        assert!(!found(ADD_CARRY, |effects, _| effects.flags_read = Flags::EMPTY).is_empty());
        let without_sign = Flags::from_bits(Flags::STATUS.bits() & !Flags::SF.bits());
        assert!(!found(ADD_CARRY, |effects, _| effects.flags_written = without_sign).is_empty());
    }

    #[test]
    fn a_byte_of_memory_too_few_is_found() {
        assert!(!found(ADD_CARRY, |_, extents| extents.iter_mut().for_each(|extent| extent.len -= 1)).is_empty());
        // mov rax, [rbx]
        let load = [0x48, 0x8b, 0x03];
        assert!(!found(&load, |_, extents| extents.iter_mut().for_each(|extent| extent.len -= 1)).is_empty());
    }

    #[test]
    fn a_register_that_keeps_a_part_is_no_overwritten_one() {
        let overwritten = |bytes: &[u8], reg: Reg| {
            !found(bytes, |effects, _| effects.overwrites = effects.overwrites.with(reg)).is_empty()
        };
        // mov al, 1; mov ax, cx; movss xmm0, xmm1; movaps xmm0, xmm1
        assert!(overwritten(&[0xb0, 1], Reg::RAX) && overwritten(&[0x66, 0x89, 0xc8], Reg::RAX));
        assert!(overwritten(&[0xf3, 0x0f, 0x10, 0xc1], Reg::vector(0)));
        assert!(overwritten(&[0x0f, 0x28, 0xc1], Reg::vector(0)));
        let low = |effects: &mut Effects, _: &mut Vec<Extent>| {
            effects.overwrites_low = effects.overwrites_low.with(Reg::vector(0));
        };
        assert!(!found(&[0xf3, 0x0f, 0x10, 0xc1], low).is_empty());
    }

    #[test]
    fn a_flag_that_a_shift_may_leave_alone_is_no_overwritten_one() {
        // shl rbx, cl
        let shift = [0x48, 0xd3, 0xe3];
        let counted = decode(&shift, Lab::x86_64().mode()).expect("an instruction").effects();
        assert!(counted.flags_overwritten.is_empty());
        assert!(!found(&shift, |effects, _| effects.flags_overwritten = Flags::CF).is_empty());
    }

    #[test]
    fn a_destination_that_may_survive_and_is_not_read_is_found() {
        // cmovo rax, rcx
        let move_on_overflow = [0x48, 0x0f, 0x40, 0xc1];
        assert!(!found(&move_on_overflow, |effects, _| effects.reads = effects.reads.without(Reg::RAX)).is_empty());
    }
}
