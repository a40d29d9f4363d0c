//! What is reported and never seen: registers and flags listed as read that make no difference, or as written that stay.
//!
//! That is no error in itself (`xor eax, eax` reads eax by definition), and few states are no proof: it is counted and listed.

use std::collections::BTreeMap;

use insn::Access;
use insn::x86::{Effects, Flags, Insn, Reg};

use super::extent::Extent;
use super::perturb::{FREE, Run, completed, same_outcome, word};
use super::skeleton::{Operand, Skeleton, Space};
use super::view::{View, change, registers};
use crate::Random;
use crate::lockstep::State;

/// How often something must be listed before its absence means anything.
const ENOUGH: u64 = 12;

/// What is reported of which instructions: opcode, whether it has memory, modrm.reg where that chooses, and the part.
type Key = (Space, u8, u8, u8, bool, Option<u8>, String);

/// How often parts were listed and seen.
#[derive(Clone, Debug, Default)]
pub struct Excess {
    read: BTreeMap<Key, (u64, u64)>,
    written: BTreeMap<Key, (u64, u64)>,
    sizes: BTreeMap<Key, (u64, u64)>,
    kept: BTreeMap<Key, (u64, u64)>,
}

/// One thing read, and the state with that alone changed.
pub(super) struct Changed {
    part: String,
    reg: Reg,
    pub(super) state: State,
}

fn key(form: &Skeleton, part: String) -> Key {
    (form.space, form.map, form.opcode, form.pp, form.operand == Operand::Memory, form.reg, part)
}

fn flag_name(bit: u32) -> String {
    format!("{:?}", Flags::from_bits(1 << bit))
}

/// What the register is to the instruction, whatever its number.
fn part(insn: &Insn, reg: Reg) -> String {
    let memory = insn.memory();
    let number = reg.number() & 31;
    let bank = match reg.number() {
        0..32 => "general",
        32..64 => "vector",
        64..72 => "mask",
        72..80 => "mmx",
        _ => return reg.to_string(),
    };
    let (base, index) = (memory.and_then(|memory| memory.base), memory.and_then(|memory| memory.index));
    let role = match number {
        _ if base == Some(reg) => "base",
        _ if index == Some(reg) => "index",
        _ if insn.modrm().is_some() && number == insn.reg() => "reg",
        _ if memory.is_none() && number == insn.rm() => "rm",
        _ if number == insn.vvvv() => "vvvv",
        _ => return if bank == "general" { reg.to_string() } else { format!("{bank} other") },
    };
    format!("{bank} {role}")
}

impl Excess {
    /// Changes one thing that the instruction reads.
    pub(super) fn change(
        insn: &Insn,
        effects: &Effects,
        state: &State,
        wide: bool,
        rng: &mut Random,
    ) -> Option<Changed> {
        let read: Vec<Reg> = registers().filter(|reg| effects.reads.contains(*reg)).collect();
        let mut other = state.clone();
        if read.is_empty() {
            return None;
        }
        let reg = rng.one_of(&read);
        if reg == Reg::FLAGS {
            let free = effects.flags_read.bits() & FREE.bits();
            let bits: Vec<u32> = (0..32).filter(|bit| free >> bit & 1 != 0).collect();
            if bits.is_empty() {
                return None;
            }
            let bit = rng.one_of(&bits);
            other.regs.eflags ^= 1 << bit;
            return Some(Changed { part: flag_name(bit), reg, state: other });
        }
        change(&mut other, reg, Flags::EMPTY, wide, rng);
        if View::of(state).value(reg) == View::of(&other).value(reg) {
            return None;
        }
        Some(Changed { part: part(insn, reg), reg, state: other })
    }

    /// Notes whether that made a difference.
    pub(super) fn note_read(&mut self, form: &Skeleton, changed: &Changed, first: &Run<'_>, second: &Run<'_>) {
        let counts = self.read.entry(key(form, changed.part.clone())).or_default();
        counts.0 += 1;
        counts.1 += u64::from(!same_outcome(changed.reg, first, second));
    }

    /// Notes which of the things written changed.
    pub(super) fn note_written(&mut self, form: &Skeleton, insn: &Insn, effects: &Effects, run: &Run<'_>) {
        let Some(after) = &run.end.state else { return };
        let (old, new) = (View::of(run.before), View::of(after));
        for reg in registers().filter(|reg| effects.writes.contains(*reg) && *reg != Reg::FLAGS) {
            let counts = self.written.entry(key(form, part(insn, reg))).or_default();
            counts.0 += 1;
            counts.1 += u64::from(old.value(reg) != new.value(reg));
        }
        let changed = run.before.regs.eflags ^ after.regs.eflags;
        for bit in (0..22).filter(|bit| (effects.flags_written.bits() & FREE.bits()) >> bit & 1 != 0) {
            let counts = self.written.entry(key(form, flag_name(bit))).or_default();
            counts.0 += 1;
            counts.1 += changed >> bit & 1;
        }
    }

    /// Notes whether old bits survive in the registers and flags that `insn` reports as written and not as overwritten.
    pub(super) fn note_kept(&mut self, form: &Skeleton, insn: &Insn, effects: &Effects, runs: [&Run<'_>; 2]) {
        let [first, second] = runs;
        let Some([(old, new), (other_old, other_new)]) = completed(first, second) else { return };
        let kept = effects.writes.difference(effects.reads).difference(effects.overwrites);
        for reg in registers().filter(|reg| kept.contains(*reg) && *reg != Reg::FLAGS) {
            if old.value(reg) != other_old.value(reg) {
                let counts = self.kept.entry(key(form, part(insn, reg))).or_default();
                counts.0 += 1;
                counts.1 += u64::from(new.value(reg) != other_new.value(reg));
            }
        }
        for reg in effects.writes.difference(effects.reads).difference(effects.overwrites_low).iter() {
            if (32..64).contains(&reg.number()) && old.value(reg) != other_old.value(reg) {
                let counts = self.kept.entry(key(form, format!("low {}", part(insn, reg)))).or_default();
                counts.0 += 1;
                counts.1 += u64::from(new.value(reg)[..16] != other_new.value(reg)[..16]);
            }
        }
        let flags = [&old, &other_old, &new, &other_new].map(|view| word(view.value(Reg::FLAGS)) as u32);
        let told = effects.flags_read.union(effects.flags_overwritten).union(effects.flags_undefined);
        let kept = effects.flags_written.bits() & FREE.bits() & !told.bits();
        for bit in (0..22).filter(|bit| (kept & (flags[0] ^ flags[1])) >> bit & 1 != 0) {
            let counts = self.kept.entry(key(form, flag_name(bit))).or_default();
            counts.0 += 1;
            counts.1 += u64::from((flags[2] ^ flags[3]) >> bit & 1);
        }
    }

    /// Where no more than the last byte of a memory operand lies outside of all memory, notes whether it was accessed.
    pub(super) fn note_size(&mut self, form: &Skeleton, state: &State, extents: &[Extent], completed: bool) {
        for extent in
            extents.iter().filter(|extent| (2..u64::MAX).contains(&extent.len) && extent.access != Access::None)
        {
            let last = extent.start.wrapping_add(extent.len - 1);
            if state.windows().iter().any(|(start, window)| start + window.len() as u64 == last && extent.start < last)
            {
                let counts = self.sizes.entry(key(form, "last byte".to_owned())).or_default();
                counts.0 += 1;
                counts.1 += u64::from(!completed);
            }
        }
    }

    /// What was listed often and never seen: reads, writes, last bytes of memory operands, what written registers keep.
    pub fn never_seen(&self) -> [Vec<String>; 4] {
        [&self.read, &self.written, &self.sizes, &self.kept].map(|counts| {
            let never = counts.iter().filter(|(_, (listed, seen))| *listed >= ENOUGH && *seen == 0);
            never.map(|(key, (listed, _))| describe(key, *listed)).collect()
        })
    }

    /// How many parts were listed often enough: reads, writes, last bytes, kept.
    pub fn listed(&self) -> [usize; 4] {
        [&self.read, &self.written, &self.sizes, &self.kept]
            .map(|counts| counts.values().filter(|(listed, _)| *listed >= ENOUGH).count())
    }
}

fn describe((space, map, opcode, pp, memory, reg, part): &Key, listed: u64) -> String {
    let prefix = ["np", "66", "f3", "f2"][usize::from(*pp)];
    let reg = reg.map_or(String::new(), |reg| format!("/{reg}"));
    let operand = if *memory { "m" } else { "r" };
    format!("{space:?} {map} {prefix} {opcode:02x}{reg} {operand}: {part} ({listed} times)")
}
