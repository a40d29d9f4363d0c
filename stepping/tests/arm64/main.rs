//! A64: plans, slots and emulation against hand-made registers and memory.

mod assemble;
mod emulate;
mod exclusive;
mod kprobes;
mod machine;
mod plan;
mod random;
mod uprobes;

use insn::arm64::{Insn, decode};
use stepping::arm64::{Code, Emulate, Plan, Slot, plan};

fn insn(word: u32) -> Insn {
    decode(word).unwrap_or_else(|error| panic!("{error}"))
}

fn emulate(word: u32, pc: u64) -> Emulate {
    match plan(&insn(word), pc) {
        Plan::Emulate(emulate) => emulate,
        other => panic!("{word:#010x}: {other:?}"),
    }
}

fn slot(word: u32, pc: u64) -> Slot {
    match plan(&insn(word), pc) {
        Plan::Slot(slot) => slot,
        other => panic!("{word:#010x}: {other:?}"),
    }
}

/// The slot's words without the filling, of an instruction that runs in it.
fn code(word: u32, pc: u64, at: u64) -> (Code, Vec<u32>) {
    let code = slot(word, pc).assemble(at).unwrap();
    (code, words(&code))
}

fn words(code: &Code) -> Vec<u32> {
    code.bytes[..usize::from(code.len)]
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}
