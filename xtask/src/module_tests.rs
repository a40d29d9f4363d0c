//! The test programs that run with the kernel module loaded.

use crate::vm::Arch;

/// Tests that run with the module loaded: its own, and those of the rooms that use it.
const BOTH: &[&str] = &[
    "cli/tests/attach.rs",
    "cli/tests/backends.rs",
    "cli/tests/count.rs",
    "cli/tests/follow.rs",
    "cli/tests/groups.rs",
    "tests/tests/channel*",
    "ubp/tests/aggregations.rs",
    "ubp/tests/batch.rs",
    "ubp/tests/breakpoints.rs",
    "ubp/tests/code.rs",
    "ubp/tests/follow.rs",
    "ubp/tests/forks.rs",
    "ubp/tests/hits.rs",
    "ubp/tests/kernel.rs",
    "ubp/tests/rules.rs",
    "ubp/tests/signal_events.rs",
    "ubp/tests/signals.rs",
    "ubp/tests/spawn.rs",
    "ubp/tests/syscalls.rs",
];
/// Programs with a site on every instruction. On debug kernels they take longer than a test may.
pub(crate) const WHOLE: &[&str] = &["tests/tests/whole_counts.rs"];
/// Tests that run where the processors take turns: they have the kernel change its code, of which QEMU before 8.1 may execute the old one.
pub(crate) const IN_TURN: &[&str] = &["ubp/tests/tracepoints.rs"];
/// The lockstep tests that run past a breakpoint of the module's. `lockstep_mmio` asks the processor alone, which QEMU only imitates.
const OF_X86: &[&str] = &[
    "cli/tests/events.rs",
    "tests/tests/kprobes/main.rs",
    "tests/tests/lockstep_branches.rs",
    "tests/tests/lockstep_faults.rs",
    "tests/tests/lockstep_generated.rs",
    "tests/tests/lockstep_i386.rs",
    "tests/tests/lockstep_slots.rs",
    "tests/tests/lockstep_stack.rs",
    "tests/tests/lockstep_syscalls.rs",
    "ubp/tests/watch.rs",
];
const OF_ARM64: &[&str] = &["tests/tests/lockstep_arm64/main.rs", "ubp/tests/arm64/*"];

/// The test programs that run with the module on an architecture.
pub(crate) fn patterns(arch: Arch) -> Vec<&'static str> {
    let of_arch = match arch {
        Arch::X86_64 => OF_X86,
        Arch::Arm64 => OF_ARM64,
    };
    [BOTH, WHOLE, of_arch].concat()
}
