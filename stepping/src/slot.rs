//! Slots: their code, and what an address in it means. `R` is the architecture's type for registers.

/// Size of a slot in bytes. Breakpoint instructions fill the rest after the code; there is always one at the end.
pub const SLOT_SIZE: usize = 32;

/// How a thread leaves a slot.
///
/// After a single step the program must get a trap of its own if its trap flag is set, except where [`Code::holds_off_trap`] says
/// otherwise.
///
/// Whatever the exit is, a thread may execute a breakpoint instruction of the slot for which [`Code::original`] has an answer. It continues
/// there, with the answer's register set and the scratch register restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// By itself: the slot is boosted. It jumps back, or control does not return to it.
    Jump,
    /// By the breakpoint instruction at this offset. Then the caller sets the pc to the next original instruction, sets the register that
    /// [`Code::original`] names, and restores the scratch register.
    Trap(u8),
    /// By a single step, which takes it to its destination. Then the caller restores the scratch register.
    Step,
    /// By a single step. Then the caller corrects the return address that the instruction stored, whose size in bytes is given: it is a
    /// slot address and must become the address of the next original instruction, or the low bytes of that.
    ///
    /// On x86 the return address is at rsp; with a shadow stack also in the eight bytes at ssp after a near call, and at ssp + 8 after a far
    /// call. On Intel's processors a near call that faults at its target has stored it below rsp, where it must be corrected too. On arm64
    /// it is in x30; with a guarded control stack also on top of that stack.
    StepThenReturnAddress(u8),
}

/// A register to load before a thread enters the slot, and to restore after it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch<R> {
    /// A general register that the instruction does not use.
    pub register: R,
    /// The value that the code in the slot expects.
    pub value: u64,
}

/// The progress of a thread in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The instruction is not complete. A repeated instruction may be partly done.
    Before,
    /// The instruction is complete.
    After,
}

/// The meaning of an address in a slot in terms of the original code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<R> {
    /// The original address.
    pub pc: u64,
    /// The thread's progress.
    pub progress: Progress,
    /// A register that still holds a slot address, and the value that it should hold (x86: rcx after `syscall`).
    pub register: Option<(R, u64)>,
}

/// The most places in a slot: start, restart, end of the copy, jump back, abort handler.
pub(crate) const MAX_PLACES: usize = 5;

/// The code of a slot at a given address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code<R> {
    /// All bytes of the slot.
    pub bytes: [u8; SLOT_SIZE],
    /// Size of the code in bytes, without the breakpoint instructions that fill the slot.
    pub len: u8,
    /// How a thread leaves the slot.
    pub exit: Exit,
    /// The register to load before a thread enters the slot.
    pub scratch: Option<Scratch<R>>,
    /// Offsets at which a thread can be, and their meaning.
    pub(crate) places: [Option<(u8, Place<R>)>; MAX_PLACES],
    /// Offset of a single-step trap that the original instruction would not cause.
    pub(crate) held_off: Option<u8>,
    /// The result of [`Code::holds_off_once`].
    pub(crate) once: bool,
}

impl<R: Copy + PartialEq> Code<R> {
    /// Whether threads pass without a second trap.
    pub fn boosted(&self) -> bool {
        self.exit == Exit::Jump
    }

    /// The meaning of the address `offset` bytes into the slot; `None` if no thread can be there.
    ///
    /// Threads can be at the start and at the end of the copy, at the jump back, and at the point inside a prefixed system call to which
    /// the kernel returns to restart it. The interior of instructions and the breakpoint instructions that fill the slot have no meaning.
    /// The offset of a breakpoint instruction is that of its first byte; on x86 the rip of a thread that executed it is one more.
    pub fn original(&self, offset: u8) -> Option<Place<R>> {
        self.places.iter().flatten().find(|(at, _)| *at == offset).map(|(_, place)| *place)
    }

    /// Whether the caller must ignore a single-step trap at `offset`. On x86 system calls and `mov ss` delay this trap until the next
    /// instruction is complete; in the slot another instruction stands for that one. The thread continues at the place that
    /// [`Code::original`] returns, with its trap flag unchanged.
    pub fn holds_off_trap(&self, offset: u8) -> bool {
        self.held_off == Some(offset)
    }

    /// Whether the instruction delays a single-step trap only if the previous instruction did not: `mov ss` and `pop ss` on Intel's
    /// processors (SDM vol. 3A, 6.8.3); AMD's always delay it.
    pub fn holds_off_once(&self) -> bool {
        self.once
    }

    /// The inverse of [`Code::original`]: the offset in the slot that means the original address `pc` with this progress and no register to
    /// correct.
    pub fn offset(&self, pc: u64, progress: Progress) -> Option<u8> {
        let wanted = Place { pc, progress, register: None };
        self.places.iter().flatten().find(|(_, place)| *place == wanted).map(|(at, _)| *at)
    }
}
