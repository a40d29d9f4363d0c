//! x86: plans, slots and emulation against hand-made registers and memory.

mod assemble;
mod emulate;
mod kprobes;
mod machine;
mod plan;
mod random;
mod uprobes;

use insn::x86::{Insn, Mode, decode};
use stepping::x86::{Code, Emulate, Plan, Slot, plan};

/// The bytes of a hexadecimal text.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn insn(text: &str, mode: Mode) -> Insn {
    decode(&hex(text), mode).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn emulate(text: &str, mode: Mode, pc: u64) -> Emulate {
    match plan(&insn(text, mode), pc) {
        Plan::Emulate(emulate) => emulate,
        other => panic!("{text}: {other:?}"),
    }
}

fn slot(text: &str, mode: Mode, pc: u64) -> Slot {
    match plan(&insn(text, mode), pc) {
        Plan::Slot(slot) => slot,
        other => panic!("{text}: {other:?}"),
    }
}

/// The slot's code without the filling.
fn code(text: &str, mode: Mode, pc: u64, at: u64) -> (Code, Vec<u8>) {
    let code = slot(text, mode, pc).assemble(at).unwrap();
    (code, code.bytes[..usize::from(code.len)].to_vec())
}
