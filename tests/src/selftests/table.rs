/// Where the sites are, while a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sites {
    /// A site on every instruction, those of forked processes included.
    Everywhere,
    /// As alone, but ntrace does not follow processes that the test forks: the test traces them itself, and a process has one tracer.
    NotInChildren,
}

/// One test.
#[derive(Debug)]
pub struct Selftest {
    /// Its file, without `.c`.
    pub name: &'static str,
    /// For which widths of programs it is made: 64, 32.
    pub bits: &'static [u32],
    /// Further sources and options of the compiler, per width.
    pub extra: &'static [(u32, &'static [&'static str])],
    /// Where the sites are.
    pub sites: Sites,
    /// More than some 200,000 instructions.
    pub long: bool,
}

const BOTH: &[u32] = &[64, 32];
const STATIC: &[&str] = &["-Wl,-ereal_start", "-static"];

const fn plain(name: &'static str, bits: &'static [u32]) -> Selftest {
    Selftest { name, bits, extra: &[], sites: Sites::Everywhere, long: false }
}

const fn traces_itself(name: &'static str, bits: &'static [u32]) -> Selftest {
    Selftest { sites: Sites::NotInChildren, ..plain(name, bits) }
}

/// The tests of tools/testing/selftests/x86, and `sas` of sigaltstack. Not `syscall_numbering`: its children, which it traces itself, make the
/// calls, and what is left are 250 million instructions that wait for them.
pub const SELFTESTS: &[Selftest] = &[
    traces_itself("amx", &[64]),
    Selftest { extra: &[(64, STATIC), (32, STATIC)], ..plain("check_initial_reg_state", BOTH) },
    plain("corrupt_xstate_header", &[64]),
    plain("entry_from_vm86", &[32]),
    traces_itself("fsgsbase", &[64]),
    Selftest {
        extra: &[(64, &["clang_helpers_64.S"]), (32, &["clang_helpers_32.S"])],
        ..traces_itself("fsgsbase_restore", BOTH)
    },
    plain("ioperm", BOTH),
    plain("iopl", BOTH),
    Selftest { long: true, ..plain("ldt_gdt", BOTH) },
    plain("mov_ss_trap", BOTH),
    Selftest { extra: &[(32, &["raw_syscall_helper_32.S"])], ..traces_itself("ptrace_syscall", BOTH) },
    plain("sas", &[64]),
    plain("sigaltstack", BOTH),
    plain("sigreturn", BOTH),
    plain("sigtrap_loop", BOTH),
    plain("single_step_syscall", BOTH),
    plain("syscall_arg_fault", BOTH),
    plain("syscall_nt", BOTH),
    Selftest { extra: &[(64, &["clang_helpers_64.S"])], ..plain("sysret_rip", &[64]) },
    Selftest { extra: &[(64, &["thunks.S"])], long: true, ..plain("sysret_ss_attrs", BOTH) },
    plain("test_FCMOV", &[32]),
    plain("test_FCOMI", &[32]),
    plain("test_FISTTP", &[32]),
    plain("test_mremap_vdso", BOTH),
    Selftest { extra: &[(32, &["thunks_32.S"])], ..traces_itself("test_syscall_vdso", &[32]) },
    Selftest { long: true, ..plain("test_vsyscall", BOTH) },
    Selftest { long: true, ..plain("unwind_vdso", &[32]) },
    plain("vdso_restorer", &[32]),
];

/// What a test tells otherwise with sites than without, and why. docs/limitations.md lists the reasons.
#[derive(Debug)]
pub struct Deviation {
    /// The test.
    pub name: &'static str,
    /// The width of the program.
    pub bits: u32,
    /// The beginnings of lines that may appear only without sites.
    pub alone: &'static [&'static str],
    /// Lines that may appear only with sites.
    pub traced: &'static [&'static str],
    /// The end of the traced run: the first words of its status.
    pub status: &'static str,
    /// Why.
    pub reason: &'static str,
    /// The first version of the C library that shows it.
    pub since: (u32, u32),
}

const SUCCESS: &str = "exit status: 0";
const FAILURE: &str = "exit status: 1";
const SEGMENT_BASE: &str = "code behind a 16-bit segment with a base is not where its program counter says";
const FORK: &str =
    "`fork` runs with all signals blocked, and a hit there makes the kernel forget the program's handler of SIGTRAP";
/// Every version of the C library.
const ANY: (u32, u32) = (0, 0);
const OTHER_WIDTH: &str = "code of the other width is taken for code of the program's width";

/// The known deviations.
const DEVIATIONS: &[Deviation] = &[
    Deviation {
        name: "fsgsbase",
        bits: 64,
        alone: &["[OK]\tGS/BASE remained"],
        traced: &["[OK]\tGS/BASE changed"],
        status: SUCCESS,
        reason: "a trap, as any interrupt, makes a null selector other than 0 become 0",
        since: ANY,
    },
    Deviation {
        name: "mov_ss_trap",
        bits: 64,
        alone: &["[RUN]", "[OK]"],
        traced: &[],
        status: "signal: 5 (SIGTRAP)",
        reason: FORK,
        since: (2, 41),
    },
    Deviation {
        name: "mov_ss_trap",
        bits: 32,
        alone: &["[RUN]", "[OK]"],
        traced: &[],
        status: "signal: 5 (SIGTRAP)",
        reason: FORK,
        since: (2, 41),
    },
    Deviation {
        name: "sigreturn",
        bits: 64,
        alone: &["[OK]\tall registers okay"],
        traced: &["[FAIL]\tSIGTRAP: ss", "[FAIL]\tCX (saved SP)"],
        status: FAILURE,
        reason: SEGMENT_BASE,
        since: ANY,
    },
    Deviation {
        name: "sigreturn",
        bits: 32,
        alone: &["[OK]\tall registers okay"],
        traced: &["[FAIL]\tSIGTRAP: ss", "[FAIL]\tCX (saved SP)"],
        status: FAILURE,
        reason: SEGMENT_BASE,
        since: ANY,
    },
    Deviation {
        name: "syscall_arg_fault",
        bits: 64,
        alone: &["[OK]\tSYSCALL returned normally"],
        traced: &["[SKIP]\tIllegal instruction"],
        status: SUCCESS,
        reason: "a program that reads its own code reads the breakpoints in it",
        since: ANY,
    },
    Deviation {
        name: "sysret_ss_attrs",
        bits: 64,
        alone: &["[RUN]", "[OK]"],
        traced: &[],
        status: "signal: 7 (SIGBUS)",
        reason: OTHER_WIDTH,
        since: ANY,
    },
    Deviation {
        name: "test_mremap_vdso",
        bits: 32,
        alone: &["[OK]"],
        traced: &["[FAIL]\tmremap() of the vDSO"],
        status: FAILURE,
        reason: "breakpoints in code that is moved by mremap are moved with it, and not known there",
        since: ANY,
    },
    Deviation {
        name: "test_syscall_vdso",
        bits: 32,
        alone: &["["],
        traced: &[],
        status: "signal: 11 (SIGSEGV)",
        reason: OTHER_WIDTH,
        since: ANY,
    },
];

/// The known deviation of a test, where it has one with this machine's C library.
pub fn deviation(name: &str, bits: u32) -> Option<&'static Deviation> {
    let version = c_library();
    DEVIATIONS.iter().find(|known| known.name == name && known.bits == bits && known.since <= version)
}

/// The version of the C library.
fn c_library() -> (u32, u32) {
    // SAFETY: the function returns a string that never changes.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    let mut numbers = version.to_str().unwrap_or_default().split('.').map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
