//! Architecture-specific parts of tests: AArch64.

use insn::arm64::Reg;
use ubp::{Address, Arch, Pid, Registers, Session, Spec};

/// The folder with the architecture's parts of test programs.
pub const FOLDER: &str = "arm64";
/// The functions of signals.c that handle signals.
pub const HANDLERS: &[&str] = &["note", "on_segv", "on_map", "on_skip", "on_call", "on_usr1"];
/// The architecture of programs built without further flags.
pub const ARCH: Arch = Arch::Arm64;
/// Registers of a function's first two arguments.
pub const ARGUMENTS: [Reg; 2] = [Reg::general(0), Reg::general(1)];
/// The function of the vdso that returns the time.
pub const CLOCK: &str = "__kernel_clock_gettime@@LINUX_2.6.39";
/// Compiler flags for each supported width of programs.
pub const WIDTHS: &[&[&str]] = &[&[]];
/// Microseconds between signals of a storm, enough for their handler on an emulated processor.
pub const TICK: &str = "50000";
/// Rounds of threads that have many hits in each round, on an emulated processor.
pub const ROUNDS: u64 = 40;
/// A watchpoint is told when the access is made.
pub const WATCH_IS_BEHIND: bool = false;
/// The length of a watchpoint of an instruction.
pub const WATCHED_INSTRUCTION: u64 = 4;
/// A call keeps the return address in a register.
pub const LINK_REGISTER: bool = true;
pub const PC: Reg = Reg::PC;
pub const SP: Reg = Reg::SP;
/// A function that returns 5: mov w0, #5; ret.
pub const FIVE: &[u8] = &[0xa0, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6];
/// The system call instruction, and the alignment of instructions: svc #0.
pub const SYSTEM_CALL: (&[u8], usize) = (&[0x01, 0x00, 0x00, 0xd4], 4);
/// Bytes that are not an instruction: a word that is not allocated.
pub const NO_INSTRUCTION: &[u8] = &[0xff, 0xff, 0xff, 0xff];
/// Lengths of the instructions of `many` in code.c, which repeat.
pub const MANY: &[u64] = &[4];
/// The code that code.c makes first, and the offset of its second instruction.
pub const ADD: (&[u8], u64) = (&[0x00, 0x14, 0x00, 0x11, 0xc0, 0x03, 0x5f, 0xd6], 4);

/// Makes a function at its first instruction return at once.
pub fn return_at_once(_: &mut Session, _: Pid, registers: &mut Registers, result: u64) {
    registers.set(Reg::general(0), result);
    registers.set_pc(Address(registers.get(Reg::X30).unwrap()));
}

/// The kinds of breakpoints that jumps can be: a mere count.
pub const KINDS: [fn(Address) -> Spec; 1] = [Spec::count];

/// Whether code begins with a branch.
pub fn is_jump(code: &[u8]) -> bool {
    code.get(3).is_some_and(|byte| byte & 0xfc == 0x14)
}

/// The cases of signals.c, and the functions whose instructions are counted.
pub const SIGNAL_CASES: [(&str, &[&str]); 10] = [
    ("load", &["load_case"]),
    ("store", &["store_case"]),
    ("udf", &["udf_case"]),
    ("brk", &["brk_case"]),
    ("call", &["call_case"]),
    ("grow", &["grow_case"]),
    ("nested", &["nested_case"]),
    ("restart", &["restart_case", "blocked_read"]),
    ("jump", &["jump_case"]),
    ("mask", &["mask_case"]),
];

/// Sevens of calls of a program that is stopped meanwhile.
pub const STOPPED: u64 = 300_000;
