//! Architecture-specific parts of tests: x86-64.

use insn::x86::Reg;
use ubp::{Address, Arch, Comparison, Operand, Pid, Registers, Session, Spec};

/// The folder with the architecture's parts of test programs.
pub const FOLDER: &str = "x86";
/// The functions of signals.c that handle signals.
pub const HANDLERS: &[&str] =
    &["note", "on_segv", "on_map", "on_skip2", "on_div", "on_call", "on_push", "on_step", "on_usr1"];
/// The architecture of programs built without further flags.
pub const ARCH: Arch = Arch::X86_64;
/// Registers of a function's first two arguments.
pub const ARGUMENTS: [Reg; 2] = [Reg::RDI, Reg::RSI];
/// The function of the vdso that returns the time.
pub const CLOCK: &str = "clock_gettime@@LINUX_2.6";
/// Compiler flags for each supported width of programs.
pub const WIDTHS: &[&[&str]] = &[&[], &["-m32"]];
/// Microseconds between signals of a storm, enough for their handler.
pub const TICK: &str = "1000";
/// Rounds of threads that have many hits in each round.
pub const ROUNDS: u64 = 400;
/// A watchpoint is told when the access is made.
pub const WATCH_IS_BEHIND: bool = true;
/// The length of a watchpoint of an instruction.
pub const WATCHED_INSTRUCTION: u64 = 1;
/// A call keeps the return address in a register.
pub const LINK_REGISTER: bool = false;
pub const PC: Reg = Reg::RIP;
pub const SP: Reg = Reg::RSP;
/// A function that returns 5.
pub const FIVE: &[u8] = &[0xb8, 5, 0, 0, 0, 0xc3];
/// The system call instruction, and the alignment of instructions: syscall.
pub const SYSTEM_CALL: (&[u8], usize) = (&[0x0f, 0x05], 1);
/// Bytes that are not an instruction.
pub const NO_INSTRUCTION: &[u8] = &[0x06];
/// Lengths of the instructions of `many` in code.c, which repeat.
pub const MANY: &[u64] = &[2, 3, 3, 2, 3];
/// The code that code.c makes first, and the offset of its second instruction.
pub const ADD: (&[u8], u64) = (&[0x8d, 0x47, 0x05, 0xc3], 3);

/// Makes a function at its first instruction return at once.
pub fn return_at_once(session: &mut Session, pid: Pid, registers: &mut Registers, result: u64) {
    let mut back = [0; 8];
    let sp = registers.sp();
    session.read_memory(pid, sp, &mut back).unwrap();
    registers.set(Reg::RAX, result);
    registers.set(Reg::RSP, sp.0 + 8);
    registers.set_pc(Address(u64::from_le_bytes(back)));
}

/// The kinds of breakpoints that jumps can be: a mere count, a condition that never holds, one that always does, and records.
pub const KINDS: [fn(Address) -> Spec; 4] = [
    Spec::record,
    Spec::count,
    |address| Spec::count(address).when(Operand::Register(Reg::RSP).is(Comparison::Equal, 1)),
    |address| Spec::count(address).when(Operand::Register(Reg::RSP).is(Comparison::NotEqual, 1)),
];

/// Whether code begins with a jump.
pub fn is_jump(code: &[u8]) -> bool {
    code.first() == Some(&0xe9)
}

/// The cases of signals.c, and the functions whose instructions are counted.
pub const SIGNAL_CASES: [(&str, &[&str]); 15] = [
    ("load", &["load_case"]),
    ("store", &["store_case"]),
    ("ud2", &["ud2_case"]),
    ("div", &["div_case"]),
    ("int3", &["int3_case"]),
    ("call", &["call_case"]),
    ("push", &["push_case"]),
    ("growcall", &["grow_by_call_case"]),
    ("trap", &["trap_flag_case"]),
    ("ignored", &["ignored_case", "ignored_later"]),
    ("grow", &["grow_case"]),
    ("nested", &["nested_case"]),
    ("restart", &["restart_case", "blocked_read"]),
    ("jump", &["jump_case"]),
    ("mask", &["mask_case"]),
];

/// Sevens of calls of a program that is stopped meanwhile.
pub const STOPPED: u64 = 1_000_000;
