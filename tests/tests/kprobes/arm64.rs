//! Kernels of arm64, which optimise no kprobe.

use std::io::Result;
use std::ops::Range;

use libc::EINVAL;
use stepping::arm64::kprobe_at;
use stepping::{Kprobe, KprobeKernel};

use crate::Forecast;
use crate::running::{Function, JUMP_LABELS, Running, Table};

pub(crate) const BUGS: Table = Table { start: "__start___bug_table", stop: "__stop___bug_table", entry: 12 };

/// The instructions that the kernel rewrites.
pub(crate) fn patched(kernel: &Running) -> Result<Vec<Range<u64>>> {
    Ok(kernel.addresses(&JUMP_LABELS)?.into_iter().map(|start| start..start + 4).collect())
}

/// The instructions of a function.
pub(crate) fn instructions(function: &Function) -> Vec<u64> {
    function.range.clone().step_by(4).collect()
}

/// What `stepping` says of a kprobe at an address.
pub(crate) fn forecast(function: &Function, pc: u64, kernel: &KprobeKernel<'_>) -> Forecast {
    let words = function.code.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    let way = kprobe_at(&words.collect::<Vec<u32>>(), function.range.start, pc, kernel);
    let (is_refused, is_wrong) = (matches!(way, Kprobe::Refused(_)), matches!(way, Kprobe::Wrong(_)));
    let refused = is_refused.then_some(EINVAL);
    Forecast { pc, refused, is_traced: false, is_wrong, is_optimized: false, told: way.to_string() }
}
