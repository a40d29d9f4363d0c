//! What instructions do to the flow of control, and where branches go.

use insn::{Flow as Rusts, Target};

/// What an instruction does to the flow of control.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum Flow {
    /// It continues with the next instruction, or faults.
    Next = 0,
    /// A near unconditional jump.
    Jump = 1,
    /// A near conditional jump or a loop.
    ConditionalJump = 2,
    /// A near call.
    Call = 3,
    /// A near return.
    Return = 4,
    /// A system call: syscall, sysenter; svc.
    Syscall = 5,
    /// A software interrupt: int n, into.
    Interrupt = 6,
    /// A breakpoint: int3, int1; brk, hlt.
    Trap = 7,
    /// It changes the code segment: far jumps, calls and returns, iret.
    Far = 8,
    /// It begins, aborts or ends a transaction.
    Transaction = 9,
    /// It faults in user mode, because it needs a privilege.
    Privileged = 10,
    /// It faults by definition: ud2; udf.
    Faulting = 11,
    /// Something else, which this version of the header does not know.
    Other = 255,
}

/// The number for C.
pub(crate) fn of(flow: Rusts) -> u8 {
    let flow = match flow {
        Rusts::Next => Flow::Next,
        Rusts::Jump => Flow::Jump,
        Rusts::ConditionalJump => Flow::ConditionalJump,
        Rusts::Call => Flow::Call,
        Rusts::Return => Flow::Return,
        Rusts::Syscall => Flow::Syscall,
        Rusts::Interrupt => Flow::Interrupt,
        Rusts::Trap => Flow::Trap,
        Rusts::Far => Flow::Far,
        Rusts::Transaction => Flow::Transaction,
        Rusts::Privileged => Flow::Privileged,
        Rusts::Faulting => Flow::Faulting,
        _ => Flow::Other,
    };
    flow as u8
}

/// What the bytes tell of a branch's target.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// There is none.
    None = 0,
    /// An address.
    Address = 1,
    /// The value of a register.
    Register = 2,
    /// The memory operand has it.
    Memory = 3,
    /// The stack has it.
    Stack = 4,
}

/// The kind of a target for C, and the number of its register.
pub(crate) fn target<R>(target: Target<R>, number: impl Fn(R) -> u8) -> (u8, u8) {
    let (kind, register) = match target {
        Target::Relative(_) | Target::Absolute(_) => (TargetKind::Address, 0),
        Target::Register(register) => (TargetKind::Register, number(register)),
        Target::Memory => (TargetKind::Memory, 0),
        Target::Stack => (TargetKind::Stack, 0),
        _ => (TargetKind::None, 0),
    };
    (kind as u8, register)
}

/// A set of registers for C: the numbers 0 to 63, and 64 to 127.
pub(crate) fn halves(bits: u128) -> [u64; 2] {
    [bits as u64, (bits >> 64) as u64]
}
