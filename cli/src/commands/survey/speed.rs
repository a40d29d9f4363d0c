//! The speed at which this machine decodes.

use std::hint::black_box;
use std::time::Instant;

use survey::Code;
use ubp_symbols::code::Mode;

use crate::hex;

/// The most bytes of code that the measurement decodes.
const MEASURED: usize = 16 << 20;

/// The instructions that this machine decodes per second, by some of the code.
pub(super) fn speed(code: &Code<'_>) -> u64 {
    let (start, mut left, mut decoded) = (Instant::now(), MEASURED, 0);
    for (_, bytes) in code.pieces() {
        let some = bytes.get(..left.min(bytes.len())).unwrap_or_default();
        left -= some.len();
        decoded += match code.mode() {
            Mode::X86(mode) => x86(some, mode),
            Mode::Arm64 => arm64(some),
        };
    }
    (decoded as f64 / start.elapsed().as_secs_f64().max(1e-9)) as u64
}

/// Decodes and classifies all code. Returns the number of instructions.
fn x86(code: &[u8], mode: insn::x86::Mode) -> u64 {
    let (mut count, mut rest) = (0, code);
    while !rest.is_empty() {
        let len = match insn::x86::decode(rest, mode) {
            Ok(insn) => {
                count += 1;
                black_box(insn.flow());
                insn.len()
            }
            Err(_) => 1,
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    count
}

/// As [`x86`].
fn arm64(code: &[u8]) -> u64 {
    hex::words(code).filter_map(|word| insn::arm64::decode(word).ok()).fold(0, |count, insn| {
        black_box(insn.flow());
        count + 1
    })
}
