//! Plans and slots, as C sees them.

use stepping::{Code, Exit, Progress, SLOT_SIZE};

/// How threads pass a breakpoint on an instruction.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plan {
    /// enum ntrace_plan_kind.
    pub kind: u8,
    /// Why there is none, of NTRACE_PLAN_KIND_REFUSE: a number of the architecture's, counted from 1. docs/limitations.md has the reasons.
    pub refusal: u8,
}

/// The ways to pass a breakpoint.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// ntrace_x86_emulate or ntrace_a64_emulate does what the instruction does.
    Emulate = 0,
    /// The thread executes a copy of the instruction in a slot.
    Slot = 1,
    /// No breakpoint can stand here.
    Refuse = 2,
}

/// How a thread leaves a slot.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SlotExit {
    /// By itself: no trap follows.
    Jump = 0,
    /// By the breakpoint instruction at `exit_offset`. The thread continues at the place of that offset.
    Trap = 1,
    /// By one single step. The thread continues at the place where the step ended, or where the instruction went.
    Step = 2,
    /// As NTRACE_SLOT_EXIT_STEP; then the caller writes the address of the next instruction to the top of the stack, in `exit_size` bytes.
    StepThenReturnAddress = 3,
}

/// Number of bytes of a slot.
pub const NTRACE_SLOT_SIZE: usize = 32;
/// The most places in a slot.
pub const NTRACE_MOST_PLACES: usize = 5;

/// What an address in a slot stands for.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// The pc of the program.
    pub pc: u64,
    /// The value of the register `register_number`, where `has_register` is 1: a thread that continues at `pc` has it.
    pub value: u64,
    /// Bytes from the slot's start.
    pub offset: u8,
    /// 1 where the instruction is done.
    pub is_done: u8,
    /// 1 where `register_number` and `value` are meant.
    pub has_register: u8,
    /// A register's number.
    pub register_number: u8,
}

/// The code of a slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slot {
    /// What to write to the slot.
    pub bytes: [u8; NTRACE_SLOT_SIZE],
    /// Where a thread can be that stops in the slot.
    pub places: [Place; NTRACE_MOST_PLACES],
    /// The value of `scratch_register` while the thread is in the slot, where `has_scratch` is 1. The caller puts the register back.
    pub scratch_value: u64,
    /// Bytes of code. Breakpoint instructions fill the rest.
    pub length: u8,
    /// Number of `places`.
    pub place_count: u8,
    /// enum ntrace_slot_exit.
    pub exit: u8,
    /// Offset of the breakpoint instruction by which the thread leaves (NTRACE_SLOT_EXIT_TRAP).
    pub exit_offset: u8,
    /// Bytes of the return address (NTRACE_SLOT_EXIT_STEP_THEN_RETURN_ADDRESS).
    pub exit_size: u8,
    /// 1 where a register has to be loaded before the thread enters.
    pub has_scratch: u8,
    /// A register's number.
    pub scratch_register: u8,
}

const _: () = assert!(NTRACE_SLOT_SIZE == SLOT_SIZE);

impl Slot {
    /// A slot for C, with the numbers of registers by `number`; `None` if C has no name for the way out of it.
    pub(crate) fn of<R: Copy + PartialEq>(code: &Code<R>, number: impl Fn(R) -> u8) -> Option<Slot> {
        let (exit, exit_offset, exit_size) = match code.exit {
            Exit::Jump => (SlotExit::Jump, 0, 0),
            Exit::Trap(offset) => (SlotExit::Trap, offset, 0),
            Exit::StepThenReturnAddress(size) => (SlotExit::StepThenReturnAddress, 0, size),
            Exit::Step => (SlotExit::Step, 0, 0),
            // The header does not know it.
            _ => return None,
        };
        let mut slot = Slot {
            bytes: code.bytes,
            places: [Place::default(); NTRACE_MOST_PLACES],
            scratch_value: code.scratch.map_or(0, |scratch| scratch.value),
            length: code.len,
            place_count: 0,
            exit: exit as u8,
            exit_offset,
            exit_size,
            has_scratch: u8::from(code.scratch.is_some()),
            scratch_register: code.scratch.map_or(0, |scratch| number(scratch.register)),
        };
        let mut room = slot.places.iter_mut();
        for offset in 0..=SLOT_SIZE as u8 {
            let Some(place) = code.original(offset) else { continue };
            let Some(entry) = room.next() else { break };
            *entry = Place {
                pc: place.pc,
                value: place.register.map_or(0, |(_, value)| value),
                offset,
                is_done: u8::from(place.progress == Progress::After),
                has_register: u8::from(place.register.is_some()),
                register_number: place.register.map_or(0, |(register, _)| number(register)),
            };
            slot.place_count += 1;
        }
        Some(slot)
    }
}
