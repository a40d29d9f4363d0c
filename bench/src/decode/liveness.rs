//! What code does not need of flags and registers, at the functions that a program exports.

use insn::x86::{Dead, Flags, Mode, Reg, RegSet, dead, dead_among};

use crate::programs::Code;
use crate::rounds::Subject;

pub(super) const FLAGS: &str = "ntrace, flags";

/// A question to the scan, about the values at an offset of code.
type Ask = fn(&[u8], usize) -> Dead;

const QUESTIONS: [(&str, Ask); 3] = [(FLAGS, flags), ("ntrace, flags and rax", accumulator), ("ntrace, all", all)];

/// The subjects whose names are wanted.
pub(super) fn subjects<'a>(code: &'a Code, functions: &'a [usize], wanted: impl Fn(&&str) -> bool) -> Vec<Subject<'a>> {
    let questions = QUESTIONS.into_iter().filter(|(name, _)| wanted(name));
    let subject = |(name, ask): (&'static str, Ask)| {
        Subject::new(name, move || {
            for function in functions {
                std::hint::black_box(ask(&code.bytes, *function));
            }
            functions.len() as u64
        })
    };
    questions.map(subject).collect()
}

fn among(code: &[u8], offset: usize, registers: RegSet) -> Dead {
    let mut wanted = Dead::default();
    (wanted.flags, wanted.registers) = (Flags::STATUS, registers);
    dead_among(code, offset, Mode::INTEL_64, wanted)
}

fn flags(code: &[u8], offset: usize) -> Dead {
    among(code, offset, RegSet::EMPTY)
}

fn accumulator(code: &[u8], offset: usize) -> Dead {
    among(code, offset, RegSet::EMPTY.with(Reg::RAX))
}

fn all(code: &[u8], offset: usize) -> Dead {
    dead(code, offset, Mode::INTEL_64)
}
