use insn::x86::{Insn, Reg};

use super::{Refusal, assemble};

/// Bytes of a slot. What the code does not fill is `int3`; there is always one at the end.
pub const SLOT_SIZE: usize = 32;

/// An instruction that runs as a copy, at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub(super) insn: Insn,
    pub(super) pc: u64,
}

impl Slot {
    /// The code for a slot at the address `at`.
    ///
    /// Within ±2 GiB of the site and of what a rip-relative operand names the displacement is rewritten and a jump leads back;
    /// elsewhere a scratch register or an absolute jump serves.
    ///
    /// # Errors
    /// [`Refusal::NoScratchRegister`]; none where the slot lies within reach.
    pub fn assemble(&self, at: u64) -> Result<Code, Refusal> {
        assemble::assemble(&self.insn, self.pc, at)
    }
}

/// How a thread leaves a slot.
///
/// After a single step that leaves the program's own trap flag set the program is due a trap of its own
/// ([`Code::holds_off_trap`] excepted).
///
/// Whatever the exit, a thread that runs into an `int3` of the slot for which [`Code::original`] has an answer goes on as the
/// answer says: there, with that register set, and with the scratch register put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// By itself: a jump back, or control that never comes back (boosted).
    Jump,
    /// By running into the `int3` at this offset; then rip is set to the next instruction, what [`Code::original`] says of
    /// a register is done, and the scratch register is put back.
    Trap(u8),
    /// By a single step, which leaves it elsewhere; then the scratch register is put back.
    Step,
    /// By a single step; then the return address that the instruction pushed is corrected: `size` bytes at rsp hold a slot
    /// address and get the original one (the low bytes of the next instruction's). With a shadow stack so do the eight
    /// bytes at ssp of a near call, and those at ssp + 8 of a far one.
    StepThenReturnAddress(u8),
}

/// A register to load before a thread enters the slot, and to put back when it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// A general register that the instruction does not use.
    pub register: Reg,
    /// What the copy expects in it.
    pub value: u64,
}

/// How far a thread in a slot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The instruction has not completed (a `rep` may be midway).
    Before,
    /// The instruction has completed.
    After,
}

/// What a slot address means in terms of the original code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The original address.
    pub pc: u64,
    /// How far it has come.
    pub progress: Progress,
    /// A register that still holds a slot address, and what it should hold (rcx after `syscall`).
    pub register: Option<(Reg, u64)>,
}

/// Places that one slot can have: start, restart, end of the copy, jump back, abort handler.
pub(super) const MAX_PLACES: usize = 5;

/// The code of one slot, for one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// All bytes of the slot.
    pub bytes: [u8; SLOT_SIZE],
    /// Bytes of code before the filling `int3`s.
    pub len: u8,
    /// How a thread leaves.
    pub exit: Exit,
    /// What to load before entering.
    pub scratch: Option<Scratch>,
    /// Offsets at which a thread can be, and what they mean.
    pub(super) places: [Option<(u8, Place)>; MAX_PLACES],
    /// Where a single-step trap comes that the original instruction would not have.
    pub(super) held_off: Option<u8>,
}

impl Code {
    /// Whether a thread passes with no second trap.
    pub fn boosted(&self) -> bool {
        self.exit == Exit::Jump
    }

    /// What a thread's address `offset` bytes into the slot means; `None` where no thread can be.
    ///
    /// Threads can be at the start of the copy, at the end of the copy, at the jump back, and at the point inside a prefixed
    /// system call to which the kernel goes back for a restart. The interior of an instruction and the filling `int3`s have
    /// no meaning. After an `int3` a thread's rip is one more than the offset to ask for.
    pub fn original(&self, offset: u8) -> Option<Place> {
        self.places.iter().flatten().find(|(at, _)| *at == offset).map(|(_, place)| *place)
    }

    /// Whether a single-step trap at `offset` is to be passed over. System calls and `mov ss` hold such a trap off until the next
    /// instruction is done; in the slot something else stands for that one. The thread goes on at the place that
    /// [`Code::original`] tells, with its trap flag as it is.
    pub fn holds_off_trap(&self, offset: u8) -> bool {
        self.held_off == Some(offset)
    }

    /// The offset in the slot that means the original address `pc`, with the instruction not yet completed or completed,
    /// and no register left to correct: the inverse of [`Code::original`].
    pub fn offset(&self, pc: u64, progress: Progress) -> Option<u8> {
        let wanted = Place { pc, progress, register: None };
        self.places.iter().flatten().find(|(_, place)| *place == wanted).map(|(at, _)| *at)
    }
}
