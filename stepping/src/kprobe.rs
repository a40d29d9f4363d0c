use core::fmt;
use core::ops::Range;

/// What the kprobes of Linux do at an instruction of the kernel: `R` names why they refuse it, `D` what they do wrong.
///
/// It tells users of kprobes (perf, bpftrace, SystemTap, BPF) which addresses of a kernel to avoid, and what a hit costs. The crate's own plans
/// share none of these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kprobe<R, D> {
    /// ftrace calls the kprobe from its own place in the function: no trap.
    Traced,
    /// The kernel does on the registers what the instruction does: one trap.
    Emulated,
    /// The thread runs a copy that jumps back: one trap.
    Boosted,
    /// The thread runs a copy with a trap behind it: two traps.
    Stepped,
    /// The kernel sets no kprobe there. The system call fails with `EINVAL`, `EILSEQ` or `EOPNOTSUPP`.
    Refused(R),
    /// The kernel sets a kprobe there, and goes wrong at a hit.
    Wrong(D),
}

impl<R, D> Kprobe<R, D> {
    /// The same answer with reasons and deviations of other types.
    pub fn map<S, E>(self, refused: impl FnOnce(R) -> S, wrong: impl FnOnce(D) -> E) -> Kprobe<S, E> {
        match self {
            Kprobe::Traced => Kprobe::Traced,
            Kprobe::Emulated => Kprobe::Emulated,
            Kprobe::Boosted => Kprobe::Boosted,
            Kprobe::Stepped => Kprobe::Stepped,
            Kprobe::Refused(reason) => Kprobe::Refused(refused(reason)),
            Kprobe::Wrong(deviation) => Kprobe::Wrong(wrong(deviation)),
        }
    }
}

impl<R: fmt::Display, D: fmt::Display> fmt::Display for Kprobe<R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kprobe::Traced => f.write_str("traced"),
            Kprobe::Emulated => f.write_str("emulated"),
            Kprobe::Boosted => f.write_str("boosted"),
            Kprobe::Stepped => f.write_str("stepped"),
            Kprobe::Refused(reason) => write!(f, "refused: {reason}"),
            Kprobe::Wrong(deviation) => write!(f, "wrong: {deviation}"),
        }
    }
}

/// What a kernel is, as far as kprobes depend on it and the bytes at the address do not tell. The default is a kernel that is not preemptible
/// and has empty tables.
///
/// Ranges and addresses ascend, and ranges do not overlap. A table that is not given is taken to be empty: the answers are then those for
/// addresses that the table does not name.
#[derive(Clone, Copy, Debug, Default)]
pub struct KprobeKernel<'a> {
    /// `CONFIG_PREEMPTION`: the kernel boosts no copy. x86 alone boosts.
    pub preemption: bool,
    /// Neither `CONFIG_MITIGATION_RETPOLINE` nor `CONFIG_X86_KERNEL_IBT`: an indirect jump may lead to any place in its function.
    pub jump_tables: bool,
    /// The file `kprobes/blacklist` in debugfs: functions of `NOKPROBE_SYMBOL` and the sections `.kprobes.text`, `.noinstr.text` and
    /// `.entry.text`. Further the symbols whose names begin with `__pfx_` or `__cfi_`.
    pub blacklist: &'a [Range<u64>],
    /// The instructions that jump labels (`__jump_table`) and static calls (`.static_call_sites`) rewrite.
    pub patched: &'a [Range<u64>],
    /// The addresses at which functions call ftrace (`__mcount_loc`).
    pub ftrace: &'a [u64],
    /// The addresses of `BUG` and `WARN` (`__bug_table`).
    pub bugs: &'a [u64],
    /// The instructions that the exception table (`__ex_table`) names: a fault there continues elsewhere.
    pub fixups: &'a [u64],
}

/// Whether the addresses, which ascend, have this one.
pub(crate) fn has(addresses: &[u64], address: u64) -> bool {
    addresses.binary_search(&address).is_ok()
}

/// The first of the ranges, which ascend, that shares an address with `wanted`.
pub(crate) fn overlapping<'a>(ranges: &'a [Range<u64>], wanted: &Range<u64>) -> Option<&'a Range<u64>> {
    let next = ranges.partition_point(|range| range.end <= wanted.start);
    ranges.get(next).filter(|range| range.start < wanted.end)
}

/// Whether one of the ranges, which ascend, has the address.
pub(crate) fn within(ranges: &[Range<u64>], address: u64) -> bool {
    overlapping(ranges, &(address..address.saturating_add(1))).is_some()
}
