//! The ends of two runs, and their differences.

use insn::x86::Reg;
use libc::user_regs_struct;

use super::registers::field;
use super::state::State;

/// Linux's selector of 32-bit user code (arch/x86/include/asm/segment.h).
pub(super) const CS_32: u64 = 0x23;
/// Resume flag: set in what an exception saves, of no meaning to the program.
const RF: u64 = 1 << 16;

/// Opcode, instruction pointer and data pointer of the last x87 instruction, in the XSAVE area.
pub(crate) const POINTERS: std::ops::Range<usize> = 6..24;

/// The stop at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Signal { number: i32, code: i32, address: u64 },
    Exited(i32),
    Executed,
    Killed(i32),
}

/// `si_code` of the signals of a breakpoint instruction and of a protection fault (asm-generic/siginfo.h).
pub(super) const SI_KERNEL: i32 = 0x80;

impl Stop {
    /// Whether the thread executed an `int3`.
    pub(super) fn is_breakpoint(&self) -> bool {
        matches!(self, Stop::Signal { number: libc::SIGTRAP, code: SI_KERNEL, .. })
    }
}

/// The end of a run; without a state where the program has ended or made way for another.
pub(crate) struct Ending {
    pub(crate) stop: Stop,
    pub(crate) state: Option<State>,
}

/// Every difference, in words; empty where there is none.
pub(crate) fn differences(expected: &Ending, found: &Ending) -> Vec<String> {
    let mut out = Vec::new();
    if expected.stop != found.stop {
        out.push(format!("stop: {:?} in place, {:?} through the plan", expected.stop, found.stop));
    }
    let (Some(expected), Some(found)) = (&expected.state, &found.state) else { return out };
    for ((name, a), (_, b)) in registers(&visible(&expected.regs)).into_iter().zip(registers(&visible(&found.regs))) {
        // Any null selector is one to the kernel, which may load another.
        let null = |selector: u64| name.len() == 2 && name.ends_with('s') && selector < 4;
        if a != b && !(null(a) && null(b)) {
            out.push(format!("{name}: {a:#x} in place, {b:#x} through the plan"));
        }
    }
    for (name, a, b) in [
        ("data", &expected.data, &found.data),
        ("stack", &expected.stack, &found.stack),
        ("shared", &expected.shared, &found.shared),
        ("low", &expected.low, &found.low),
        // The header says which components are in their initial state, not what they hold.
        ("xsave", &comparable(&expected.xstate, &found.xstate), &comparable(&found.xstate, &expected.xstate)),
    ] {
        // Whole memories are compared faster than byte by byte.
        let differs = if a == b { None } else { a.iter().zip(b).position(|(a, b)| a != b) };
        if let Some(at) = differs {
            let end = (at + 16).min(a.len());
            out.push(format!("{name}+{at:#x}: {:02x?} in place, {:02x?} through the plan", &a[at..end], &b[at..end]));
        }
    }
    out
}

/// The area without its header, and without the x87's pointers where either of the two has lost them: a context switch
/// on AMD lets go of them.
fn comparable(xstate: &[u8], other: &[u8]) -> Vec<u8> {
    let mut copy = xstate.to_vec();
    if let Some(header) = copy.get_mut(512..576) {
        header.fill(0);
    }
    let lost = |xstate: &[u8]| xstate.get(POINTERS).is_some_and(|pointers| pointers.iter().all(|byte| *byte == 0));
    if lost(xstate) || lost(other) {
        copy[POINTERS].fill(0);
    }
    copy
}

/// The registers as the code can see them. What 32-bit code does to upper halves (`kmovq` writes all of rax) it cannot see,
/// and the next trap may clear them.
pub(crate) fn visible(regs: &user_regs_struct) -> user_regs_struct {
    let mut regs = *regs;
    if regs.cs == CS_32 {
        for number in 0..16 {
            if let Some(value) = field(&mut regs, Reg::gpr(number)) {
                *value &= if number < 8 { 0xffff_ffff } else { 0 };
            }
        }
    }
    regs
}

fn registers(regs: &user_regs_struct) -> [(&'static str, u64); 26] {
    [
        ("rip", regs.rip),
        ("rflags", regs.eflags & !RF),
        ("rax", regs.rax),
        ("rcx", regs.rcx),
        ("rdx", regs.rdx),
        ("rbx", regs.rbx),
        ("rsp", regs.rsp),
        ("rbp", regs.rbp),
        ("rsi", regs.rsi),
        ("rdi", regs.rdi),
        ("r8", regs.r8),
        ("r9", regs.r9),
        ("r10", regs.r10),
        ("r11", regs.r11),
        ("r12", regs.r12),
        ("r13", regs.r13),
        ("r14", regs.r14),
        ("r15", regs.r15),
        ("cs", regs.cs),
        ("ss", regs.ss),
        ("ds", regs.ds),
        ("es", regs.es),
        ("fs", regs.fs),
        ("gs", regs.gs),
        ("fs_base", regs.fs_base),
        ("gs_base", regs.gs_base),
    ]
}
