//! Kernels of x86-64.

use std::io::Result;
use std::ops::Range;

use insn::x86::{Mode, decode};
use libc::{EILSEQ, EINVAL, EOPNOTSUPP};
use stepping::x86::{KprobeRefusal, kprobe_address, kprobe_at, optimized};
use stepping::{Kprobe, KprobeKernel};

use crate::Forecast;
use crate::running::{Function, JUMP_LABELS, Running, Table};

pub(crate) const BUGS: Table = Table { start: "__start___bug_table", stop: "__stop___bug_table", entry: 16 };
const STATIC_CALLS: Table = Table { start: "__start_static_call_sites", stop: "__stop_static_call_sites", entry: 8 };
const MODE: Mode = Mode::INTEL_64;
const CALL_LEN: u64 = 5;

/// The instructions that the kernel rewrites.
pub(crate) fn patched(kernel: &Running) -> Result<Vec<Range<u64>>> {
    let mut ranges: Vec<Range<u64>> =
        kernel.addresses(&STATIC_CALLS)?.into_iter().map(|start| start..start + CALL_LEN).collect();
    for start in kernel.addresses(&JUMP_LABELS)? {
        let insn = decode(&kernel.bytes(start, 15)?, MODE).expect("a jump or no-operation");
        ranges.push(start..start + insn.len() as u64);
    }
    Ok(ranges)
}

/// The instructions of a function.
pub(crate) fn instructions(function: &Function) -> Vec<u64> {
    let mut at = 0;
    std::iter::from_fn(|| {
        let insn = decode(function.code.get(at..)?, MODE).ok()?;
        at += insn.len();
        Some(function.range.start + (at - insn.len()) as u64)
    })
    .collect()
}

/// What `stepping` says of a kprobe at an address.
pub(crate) fn forecast(function: &Function, pc: u64, kernel: &KprobeKernel<'_>) -> Forecast {
    let (code, start) = (&function.code, function.range.start);
    let pc = if pc == start { kprobe_address(code, start) } else { pc };
    let way = kprobe_at(code, start, pc, MODE, kernel);
    let jump = optimized(code, start, pc, MODE, kernel);
    let refused = match way {
        Kprobe::Refused(reason) => Some(match reason {
            KprobeRefusal::Exception | KprobeRefusal::NotAnInstruction | KprobeRefusal::Undecodable(_) => EILSEQ,
            KprobeRefusal::Far | KprobeRefusal::Indirect | KprobeRefusal::Virtualization => EOPNOTSUPP,
            _ => EINVAL,
        }),
        _ => None,
    };
    let told = match &jump {
        Ok(range) => format!("{way}, a jump covers {range:x?}"),
        Err(reason) => format!("{way}, no jump: {reason}"),
    };
    let is_wrong = matches!(way, Kprobe::Wrong(_));
    Forecast { pc, refused, is_traced: way == Kprobe::Traced, is_wrong, is_optimized: jump.is_ok(), told }
}
