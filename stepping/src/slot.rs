//! The vocabulary of slots: what the code of one is, and what an address in it means. `R` is the architecture's register.

/// Bytes of a slot. What the code does not fill is breakpoint instructions; there is always one at the end.
pub const SLOT_SIZE: usize = 32;

/// How a thread leaves a slot.
///
/// After a single step that leaves the program's own trap flag set the program is due a trap of its own
/// ([`Code::holds_off_trap`] excepted).
///
/// Whatever the exit, a thread that runs into a breakpoint instruction of the slot for which [`Code::original`] has an answer
/// goes on as the answer says: there, with that register set, and with the scratch register put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// By itself: a jump back, or control that never comes back (boosted).
    Jump,
    /// By running into the breakpoint instruction at this offset; then the pc is set to the next instruction, what
    /// [`Code::original`] says of a register is done, and the scratch register is put back.
    Trap(u8),
    /// By a single step, which leaves it elsewhere; then the scratch register is put back.
    Step,
    /// By a single step; then the return address that the instruction left, so many bytes of it, is corrected: it is a slot
    /// address and becomes the original one (the low bytes of the next instruction's).
    ///
    /// On x86 it lies at rsp, with a shadow stack also in the eight bytes at ssp after a near call, and at ssp + 8 after a far
    /// one. A near call that faults at its target has written it below rsp on Intel's processors, where it is corrected too. On arm64 it is in x30, with a guarded control stack also on top of that.
    StepThenReturnAddress(u8),
}

/// A register to load before a thread enters the slot, and to put back when it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch<R> {
    /// A general register that the instruction does not use.
    pub register: R,
    /// What the copy expects in it.
    pub value: u64,
}

/// How far a thread in a slot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The instruction has not completed (a repeated one may be midway).
    Before,
    /// The instruction has completed.
    After,
}

/// What a slot address means in terms of the original code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<R> {
    /// The original address.
    pub pc: u64,
    /// How far it has come.
    pub progress: Progress,
    /// A register that still holds a slot address, and what it should hold (x86: rcx after `syscall`).
    pub register: Option<(R, u64)>,
}

/// Places that one slot can have: start, restart, end of the copy, jump back, abort handler.
pub(crate) const MAX_PLACES: usize = 5;

/// The code of one slot, for one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code<R> {
    /// All bytes of the slot.
    pub bytes: [u8; SLOT_SIZE],
    /// Bytes of code before the filling breakpoint instructions.
    pub len: u8,
    /// How a thread leaves.
    pub exit: Exit,
    /// What to load before entering.
    pub scratch: Option<Scratch<R>>,
    /// Offsets at which a thread can be, and what they mean.
    pub(crate) places: [Option<(u8, Place<R>)>; MAX_PLACES],
    /// Where a single-step trap comes that the original instruction would not have.
    pub(crate) held_off: Option<u8>,
    /// [`Code::holds_off_once`].
    pub(crate) once: bool,
}

impl<R: Copy + PartialEq> Code<R> {
    /// Whether a thread passes with no second trap.
    pub fn boosted(&self) -> bool {
        self.exit == Exit::Jump
    }

    /// What a thread's address `offset` bytes into the slot means; `None` where no thread can be.
    ///
    /// Threads can be at the start of the copy, at the end of the copy, at the jump back, and at the point inside a prefixed
    /// system call to which the kernel goes back for a restart. The interior of an instruction and the filling breakpoint
    /// instructions have no meaning. The offset of a breakpoint instruction is that of its first byte; after an `int3` of x86 a
    /// thread's rip is one more.
    pub fn original(&self, offset: u8) -> Option<Place<R>> {
        self.places.iter().flatten().find(|(at, _)| *at == offset).map(|(_, place)| *place)
    }

    /// Whether a single-step trap at `offset` is to be passed over. On x86 system calls and `mov ss` hold such a trap off until the next
    /// instruction is done; in the slot something else stands for that one. The thread goes on at the place that
    /// [`Code::original`] tells, with its trap flag as it is.
    pub fn holds_off_trap(&self, offset: u8) -> bool {
        self.held_off == Some(offset)
    }

    /// Whether it holds off such a trap only where the instruction before held off none: `mov ss` and `pop ss` on Intel's
    /// processors (SDM vol. 3A, 6.8.3; AMD's hold off each).
    pub fn holds_off_once(&self) -> bool {
        self.once
    }

    /// The offset in the slot that means the original address `pc`, with the instruction not yet completed or completed,
    /// and no register left to correct: the inverse of [`Code::original`].
    pub fn offset(&self, pc: u64, progress: Progress) -> Option<u8> {
        let wanted = Place { pc, progress, register: None };
        self.places.iter().flatten().find(|(_, place)| *place == wanted).map(|(at, _)| *at)
    }
}
