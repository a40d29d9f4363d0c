//! A64.

use core::ffi::c_char;

use insn::arm64::{Insn, Reg, decode};
use stepping::arm64::{Plan as A64Plan, Registers, WINDOW, plan_in};

use crate::flow;
use crate::slot::{Plan, PlanKind, Slot};
use crate::status::{Status, copy_text};
use crate::thread::{Calls, Thread};

/// Numbers of registers. x0 to x30 have their own, 31 is xzr; v0 to v31 begin at 32, predicates at 64.
pub const NTRACE_A64_PC: u8 = 86;
/// The stack pointer.
pub const NTRACE_A64_SP: u8 = 92;
/// The flags, in bits 31 to 28.
pub const NTRACE_A64_NZCV: u8 = 83;
/// The pointer of the guarded control stack.
pub const NTRACE_A64_GCSPR: u8 = 88;

const _: () = assert!(
    NTRACE_A64_PC == Reg::PC.number()
        && NTRACE_A64_SP == Reg::SP.number()
        && NTRACE_A64_NZCV == Reg::NZCV.number()
        && NTRACE_A64_GCSPR == Reg::GCSPR.number()
);

/// An instruction.
#[repr(C)]
pub struct A64Insn {
    /// Where a branch goes, if `target_kind` is NTRACE_TARGET_ADDRESS.
    pub address: u64,
    /// The registers that are read, as bits by their numbers: 0 to 63, and 64 to 127.
    pub reads: [u64; 2],
    /// The registers of which something may be written.
    pub writes: [u64; 2],
    /// enum ntrace_flow.
    pub flow: u8,
    /// enum ntrace_target.
    pub target_kind: u8,
    /// The register that has the target (NTRACE_TARGET_REGISTER).
    pub target_register: u8,
}

/// Decodes the word at `pc`.
///
/// Returns NTRACE_STATUS_OK, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.
///
/// # Safety
/// `insn` is null or points to a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_a64_decode(word: u32, pc: u64, insn: *mut A64Insn) -> i32 {
    let Ok(decoded) = decode(word) else { return Status::Invalid as i32 };
    if insn.is_null() {
        return Status::Argument as i32;
    }
    let (target_kind, target_register) = flow::target(decoded.target(), Reg::number);
    let told = A64Insn {
        address: decoded.target_address(pc).unwrap_or(0),
        reads: flow::halves(decoded.reads().bits()),
        writes: flow::halves(decoded.writes().bits()),
        flow: flow::of(decoded.flow()),
        target_kind,
        target_register,
    };
    // SAFETY: the pointer is not null, and the caller vouches for it.
    unsafe { insn.write(told) };
    Status::Ok as i32
}

/// Writes the mnemonic of the word to `buffer`, cut to `capacity` bytes with the NUL. Returns the mnemonic's length without the NUL, 0 where
/// there is none; 32 bytes are always enough.
///
/// # Safety
/// `buffer` is null or points to `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_a64_mnemonic(word: u32, buffer: *mut c_char, capacity: usize) -> usize {
    let decoded = decode(word);
    let text = decoded.as_ref().map_or("", |decoded| decoded.mnemonic());
    // SAFETY: the caller's promise.
    unsafe { copy_text(text, buffer, capacity) }
}

/// How a thread passes a breakpoint on the word `index` of `code`, which lies at `pc`. `code` has `count` words of the program's own, best 64 on
/// both sides: exclusive sequences are found in them.
///
/// Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED where the plan is NTRACE_PLAN_KIND_REFUSE, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.
///
/// # Safety
/// `code` is null or points to `count` words, and `told` is null or points to a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_a64_plan(
    code: *const u32,
    count: usize,
    index: usize,
    pc: u64,
    told: *mut Plan,
) -> i32 {
    // SAFETY: the caller's promise.
    let planned = match unsafe { planned(code, count, index, pc) } {
        Ok(planned) if !told.is_null() => planned,
        Ok(_) => return Status::Argument as i32,
        Err(status) => return status as i32,
    };
    let (kind, refusal, status) = match planned {
        A64Plan::Emulate(_) => (PlanKind::Emulate, 0, Status::Ok),
        A64Plan::Slot(_) => (PlanKind::Slot, 0, Status::Ok),
        A64Plan::Refuse(refusal) => (PlanKind::Refuse, refusal.number() as u8, Status::Refused),
    };
    // SAFETY: the pointer is not null, and the caller vouches for it.
    unsafe { told.write(Plan { kind: kind as u8, refusal }) };
    status as i32
}

/// The code of a slot at `at`, a multiple of 4, for the word `index` of `code`, also of an instruction that is emulated. A slot within 128 MiB
/// of `pc` needs a trap or a step less often.
///
/// Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.
///
/// # Safety
/// `code` is null or points to `count` words, and `slot` is null or points to a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_a64_slot(
    code: *const u32,
    count: usize,
    index: usize,
    pc: u64,
    at: u64,
    slot: *mut Slot,
) -> i32 {
    // SAFETY: the caller's promise.
    let planned = match unsafe { planned(code, count, index, pc) } {
        Ok(planned) if !slot.is_null() => planned,
        Ok(_) => return Status::Argument as i32,
        Err(status) => return status as i32,
    };
    let planned = match planned {
        A64Plan::Emulate(emulate) => emulate.slot(),
        A64Plan::Slot(slot) => slot,
        A64Plan::Refuse(_) => return Status::Refused as i32,
    };
    let Some(told) = planned.assemble(at).ok().and_then(|code| Slot::of(&code, Reg::number)) else {
        return Status::Refused as i32;
    };
    // SAFETY: the pointer is not null, and the caller vouches for it.
    unsafe { slot.write(told) };
    Status::Ok as i32
}

/// Does what the word `index` of `code` does, by the functions of `thread`. The registers have the numbers that ntrace.h lists.
///
/// Returns a value of enum ntrace_emulation, NTRACE_STATUS_FAULT, NTRACE_STATUS_REFUSED where the plan is not NTRACE_PLAN_KIND_EMULATE, NTRACE_STATUS_INVALID, or
/// NTRACE_STATUS_ARGUMENT. After NTRACE_STATUS_FAULT the thread steps over the instruction in its slot, so that the processor raises the fault.
///
/// # Safety
/// `code` is null or points to `count` words. `thread` is null or points to a structure whose functions keep within the buffers that they get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_a64_emulate(
    code: *const u32,
    count: usize,
    index: usize,
    pc: u64,
    thread: *mut Thread,
) -> i32 {
    // SAFETY: the caller's promise.
    let planned = match unsafe { planned(code, count, index, pc) } {
        Ok(planned) => planned,
        Err(status) => return status as i32,
    };
    // SAFETY: the caller's promise; nothing else uses the structure during the call.
    let Some(thread) = (unsafe { thread.as_mut() }) else { return Status::Argument as i32 };
    let Some(calls) = thread.calls() else { return Status::Argument as i32 };
    let A64Plan::Emulate(emulate) = planned else { return Status::Refused as i32 };
    let (is_guarded, control_stack) = (thread.is_guarded != 0, thread.has_shadow_stack != 0);
    let mut registers = Emulated { calls: &calls, branch_type: thread.branch_type, is_guarded, control_stack };
    let outcome = emulate.run(&mut registers, &mut &calls);
    thread.branch_type = registers.branch_type;
    thread.end(outcome)
}

/// # Safety
/// `code` is null or points to `count` words.
unsafe fn planned(code: *const u32, count: usize, index: usize, pc: u64) -> Result<A64Plan, Status> {
    if code.is_null() || index >= count {
        return Err(Status::Argument);
    }
    // The words that the plan looks at.
    let start = index.saturating_sub(WINDOW);
    let length = (count - start).min(2 * WINDOW + 1);
    // SAFETY: the pointer is not null, and the words lie within the caller's.
    let window = unsafe { core::slice::from_raw_parts(code.add(start), length) };
    let word = window.get(index - start).ok_or(Status::Argument)?;
    let insn: Insn = decode(*word).map_err(|_| Status::Invalid)?;
    Ok(plan_in(&insn, pc, window, index - start))
}

/// The registers of a thread of the caller's.
struct Emulated<'a> {
    calls: &'a Calls,
    branch_type: u8,
    is_guarded: bool,
    control_stack: bool,
}

impl Registers for Emulated<'_> {
    fn get(&self, register: Reg) -> u64 {
        // SAFETY: the caller of the library vouches for its functions.
        unsafe { (self.calls.get)(self.calls.context, register.number()) }
    }
    fn set(&mut self, register: Reg, value: u64) {
        // SAFETY: the caller of the library vouches for its functions.
        unsafe { (self.calls.set)(self.calls.context, register.number(), value) }
    }
    fn branch_type(&self) -> u8 {
        self.branch_type
    }
    fn set_branch_type(&mut self, branch_type: u8) {
        self.branch_type = branch_type;
    }
    fn guarded(&self) -> bool {
        self.is_guarded
    }
    fn control_stack(&self) -> bool {
        self.control_stack
    }
}
