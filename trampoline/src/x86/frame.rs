//! The code that keeps registers and flags of the program while actions run, below the red zone of its stack.

use insn::x86::{Reg, RegSet};

use super::saved::{FLAGS, FlagsAt, RED_ZONE, SCRATCH};
use super::writer::Writer;

/// How registers and flags are kept while actions run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Scratch registers to push.
    push: RegSet,
    /// Scratch registers whose values are lost, pushed or not.
    lost: RegSet,
    flags: Keep,
}

/// How flags are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    /// No code needs them.
    Not,
    /// In rax, which neither the code nor the actions need.
    InAccumulator,
    OnStack,
}

impl Frame {
    /// A frame for actions that use the registers `used`, where registers `live` and, with `flags`, the flags must be kept.
    pub(super) fn new(used: RegSet, live: RegSet, flags: bool) -> Frame {
        let accumulator = RegSet::EMPTY.with(Reg::RAX);
        if !flags {
            return Frame { push: used.intersection(live), lost: used, flags: Keep::Not };
        }
        let lost = used.union(accumulator);
        let keep = if lost.intersection(live).is_empty() && !used.contains(Reg::RAX) {
            Keep::InAccumulator
        } else {
            Keep::OnStack
        };
        Frame { push: lost.intersection(live), lost, flags: keep }
    }

    /// Whether the stack is used.
    fn moves(&self) -> bool {
        !self.push.is_empty() || self.flags == Keep::OnStack
    }

    pub(super) fn enter(&self, writer: &mut Writer<'_>) {
        if self.moves() {
            // lea -128(%rsp), %rsp
            writer.emit(&[0x48, 0x8d, 0x64, 0x24, 0x80]);
            writer.state.stack = RED_ZONE;
        }
        for (number, register) in SCRATCH {
            if self.push.contains(register) {
                // push register
                writer.emit(&[0x50 | register.number() & 7]);
                writer.state.stack = writer.state.stack.wrapping_add(8);
                writer.state.saved = writer.state.saved.with(number);
            }
        }
        if self.flags != Keep::Not {
            // lahf; seto %al
            writer.emit(&[0x9f]);
            writer.emit(&[0x0f, 0x90, 0xc0]);
            writer.state.flags = FlagsAt::Accumulator;
        }
        if self.flags == Keep::OnStack {
            writer.emit(&[0x50]);
            writer.state.stack = writer.state.stack.wrapping_add(8);
            writer.state.saved = writer.state.saved.with(FLAGS);
            writer.state.flags = FlagsAt::Stack;
        }
    }

    pub(super) fn leave(&self, writer: &mut Writer<'_>) {
        if self.flags == Keep::OnStack {
            // pop %rax
            writer.emit(&[0x58]);
            writer.state.stack = writer.state.stack.wrapping_sub(8);
            writer.state.saved = writer.state.saved.without(FLAGS);
            writer.state.flags = FlagsAt::Accumulator;
        }
        if self.flags != Keep::Not {
            // add $0x7f, %al, which sets OF if al is 1; sahf
            writer.emit(&[0x04, 0x7f]);
            writer.state.flags = FlagsAt::AccumulatorButOverflow;
            writer.emit(&[0x9e]);
            writer.state.flags = FlagsAt::Flags;
        }
        for (number, register) in SCRATCH.into_iter().rev() {
            if self.push.contains(register) {
                // pop register
                writer.emit(&[0x58 | register.number() & 7]);
                writer.state.stack = writer.state.stack.wrapping_sub(8);
                writer.state.saved = writer.state.saved.without(number);
            }
        }
        if self.moves() {
            // lea 128(%rsp), %rsp
            writer.emit(&[0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0]);
            writer.state.stack = 0;
        }
    }

    /// Whether `register` has the program's value before any action has run.
    pub(super) fn keeps(&self, register: Reg) -> bool {
        !self.lost.contains(register) && register != Reg::RSP
    }

    /// Loads the program's value of one of the first sixteen general registers into the scratch register `to`. Callers load a register that
    /// an action has overwritten only if the frame pushed it.
    pub(super) fn load(&self, writer: &mut Writer<'_>, to: Reg, register: Reg) {
        let stack = writer.state.stack;
        if register == Reg::RSP {
            // lea stack(%rsp), to
            writer.emit_stack(&[0x8d], to, stack.into());
            return;
        }
        let slot = writer.state.saved.slots().find(|(saved, _)| *saved == register);
        match slot {
            Some((_, slot)) => {
                let distance = i32::from(stack) - i32::from(RED_ZONE) - 8 - 8 * i32::from(slot);
                writer.emit_stack(&[0x8b], to, distance);
            }
            // mov register, to
            None if register != to => writer.emit(&[
                0x48 | register.number() >> 3 << 2,
                0x89,
                0xc0 | (register.number() & 7) << 3 | to.number() & 7,
            ]),
            None => {}
        }
    }
}
