//! What tests need to know of x86-64.

use insn::x86::Reg;
use ubp::{Address, Arch, Pid, Registers, Session};

/// The folder of its part of programs.
pub const FOLDER: &str = "x86";
/// The functions of signals.c that handle signals.
pub const HANDLERS: &[&str] =
    &["note", "on_segv", "on_map", "on_skip2", "on_div", "on_call", "on_push", "on_step", "on_usr1"];
/// That of programs built without further flags.
pub const ARCH: Arch = Arch::X86_64;
/// Where a function finds its first two arguments.
pub const ARGUMENTS: [Reg; 2] = [Reg::RDI, Reg::RSI];
/// The function of the vdso that tells the time.
pub const CLOCK: &str = "clock_gettime@@LINUX_2.6";
/// What makes programs of each width that runs here.
pub const WIDTHS: &[&[&str]] = &[&[], &["-m32"]];
/// So many microseconds apart signals are a storm, and leave time for their handler.
pub const TICK: &str = "1000";
/// So often threads go round where there are many hits in each round.
pub const ROUNDS: u64 = 400;
pub const PC: Reg = Reg::RIP;
pub const SP: Reg = Reg::RSP;
/// A function that returns 5.
pub const FIVE: &[u8] = &[0xb8, 5, 0, 0, 0, 0xc3];
/// What makes a system call, and how far apart instructions can begin: syscall.
pub const SYSTEM_CALL: (&[u8], usize) = (&[0x0f, 0x05], 1);
/// Bytes of code that are no instruction.
pub const NO_INSTRUCTION: &[u8] = &[0x06];
/// Lengths of the instructions of `many` in code.c, over and over.
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
