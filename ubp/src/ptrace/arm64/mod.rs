//! AArch64.

mod call;
mod control_stack;
mod cpu;
mod debug;
mod emulation;
mod function;
mod guarded;
mod jumps;
mod place;
mod record;
mod registers;
mod restart;
mod syscalls;
mod text;
mod trap;
mod trap_handler;
mod way_back;

pub(super) use self::call::BlockedCall;
pub(super) use self::cpu::atomics;
pub(crate) use self::cpu::landing_pads;
pub(super) use self::debug::{BEFORE_ACCESS, debug_registers, is_watch, set_debug_registers, take_fired};
pub(super) use self::emulation::Emulated;
pub(super) use self::function::{Function, Unseen};
pub(super) use self::guarded::{GUARDED, guarded};
pub(super) use self::jumps::{is_added, may_have_shadow_stacks, restore_at, sum_register, test_subject};
pub(super) use self::place::{APART, FAR, GROUP, PAGE, end, reaches};
pub(crate) use self::record::arguments;
pub(super) use self::record::{can_record, is_carry, is_zero, record_slot, recorded_registers, thread_key, ticks};
pub(super) use self::registers::{pc, read, set_pc, write};
pub(super) use self::restart::{DECIDED_IN_PLACE, asks_for_restart, frame_pc, restart, returned_eintr};
pub(super) use self::syscalls::{
    CALLS_HIDE_REGISTERS, ENTERS, call_again, calls, gate, is_return, maps_code, may_return, restart_number, result,
    shares_memory, skip_call, to_call,
};
pub(super) use self::text::GRANULE;
pub(super) use self::trap::{
    correct_faulted_call, correct_return_address, has_shadow_stack, hide_step, is_breakpoint, is_single_step,
    owns_trap_flag, traces,
};
pub(super) use self::trap_handler::handler_code;
pub(super) use self::way_back::way_back;
