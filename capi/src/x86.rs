//! x86-64 and i386.

use core::ffi::c_char;

use insn::x86::{Bits, Error, ErrorKind, Insn, Mode, Reg, Vendor, decode};
use stepping::x86::{Plan as X86Plan, Registers, Slot as X86Slot, plan};

use crate::flow;
use crate::slot::{Plan, PlanKind, Slot};
use crate::status::{Status, copy_text};
use crate::thread::{Calls, Thread};

/// Mode: a code segment of 16 bits.
pub const NTRACE_X86_16: u32 = 0;
/// Mode: a code segment of 32 bits.
pub const NTRACE_X86_32: u32 = 1;
/// Mode: 64-bit code.
pub const NTRACE_X86_64: u32 = 2;
/// Mode: the processor is AMD's, where the vendors differ; else it is Intel's.
pub const NTRACE_X86_AMD: u32 = 4;
/// Mode: reserved bits that some of the vendor's processors ignore are ignored.
pub const NTRACE_X86_LENIENT: u32 = 8;

/// Numbers of registers. The general registers have the processor's: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 to r31. Vector
/// registers begin at 32, mask registers at 64; es, cs, ss, ds, fs and gs at 88.
pub const NTRACE_X86_RIP: u8 = 94;
/// The flags.
pub const NTRACE_X86_FLAGS: u8 = 95;
/// The shadow stack pointer.
pub const NTRACE_X86_SSP: u8 = 97;
/// The bases of fs and gs.
pub const NTRACE_X86_FS_BASE: u8 = 101;
pub const NTRACE_X86_GS_BASE: u8 = 102;

const _: () = assert!(
    NTRACE_X86_RIP == Reg::RIP.number()
        && NTRACE_X86_FLAGS == Reg::FLAGS.number()
        && NTRACE_X86_SSP == Reg::SSP.number()
        && NTRACE_X86_FS_BASE == Reg::FS_BASE.number()
        && NTRACE_X86_GS_BASE == Reg::GS_BASE.number()
);

/// An instruction. Offsets count bytes from its start, and 0 is none.
#[repr(C)]
pub struct X86Insn {
    /// Where a branch goes, if `target_kind` is NTRACE_TARGET_ADDRESS; the address of a rip-relative operand, if `is_rip_relative` is 1.
    pub address: u64,
    /// The registers that are read, as bits by their numbers: 0 to 63, and 64 to 127.
    pub reads: [u64; 2],
    /// The registers of which something may be written.
    pub writes: [u64; 2],
    /// The bits of the flags register that are read.
    pub flags_read: u32,
    /// The bits of the flags register that may change.
    pub flags_written: u32,
    /// Length in bytes.
    pub length: u8,
    /// enum ntrace_flow.
    pub flow: u8,
    /// enum ntrace_target.
    pub target_kind: u8,
    /// The register that has the target (NTRACE_TARGET_REGISTER).
    pub target_register: u8,
    /// The opcode's last byte.
    pub opcode: u8,
    /// The opcode map: 0 one byte, 1 0F, 2 0F38, 3 0F3A, 4 to 7 EVEX's, 8 to 10 XOP's, 15 3DNow.
    pub map: u8,
    /// Offset of the opcode.
    pub opcode_offset: u8,
    /// Offset of the modrm byte.
    pub modrm_offset: u8,
    /// Offset and size of the displacement.
    pub displacement_offset: u8,
    pub displacement_size: u8,
    /// Offset and size of the first immediate.
    pub immediate_offset: u8,
    pub immediate_size: u8,
    /// Sizes in bytes.
    pub operand_size: u8,
    pub address_size: u8,
    /// 1 where the memory operand is relative to the next instruction.
    pub is_rip_relative: u8,
}

fn mode(number: u32) -> Option<Mode> {
    let bits = match number & 3 {
        NTRACE_X86_16 => Bits::B16,
        NTRACE_X86_32 => Bits::B32,
        NTRACE_X86_64 => Bits::B64,
        _ => return None,
    };
    let vendor = if number & NTRACE_X86_AMD == 0 { Vendor::Intel } else { Vendor::Amd };
    let mode = Mode::new(bits, vendor);
    match number & !7 {
        0 => Some(mode),
        NTRACE_X86_LENIENT => Some(mode.lenient()),
        _ => None,
    }
}

/// # Safety
/// `code` is null or points to `size` bytes.
unsafe fn decoded(code: *const u8, size: usize, mode_number: u32) -> Result<Insn, Status> {
    let mode = mode(mode_number).filter(|_| !code.is_null()).ok_or(Status::Argument)?;
    // SAFETY: the pointer is not null, and the caller vouches for the bytes. More than an instruction's are not looked at.
    let code = unsafe { core::slice::from_raw_parts(code, size.min(insn::x86::MAX_LEN)) };
    decode(code, mode).map_err(|Error { kind, .. }| match kind {
        ErrorKind::Truncated => Status::Truncated,
        _ => Status::Invalid,
    })
}

/// Decodes the instruction at `pc`, of which `code` has `size` bytes; 15 are always enough.
///
/// Returns NTRACE_STATUS_OK, NTRACE_STATUS_TRUNCATED, NTRACE_STATUS_INVALID, or NTRACE_STATUS_ARGUMENT.
///
/// # Safety
/// `code` is null or points to `size` bytes, and `insn` is null or points to a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_x86_decode(
    code: *const u8,
    size: usize,
    mode: u32,
    pc: u64,
    insn: *mut X86Insn,
) -> i32 {
    // SAFETY: the caller's promise.
    let decoded = match unsafe { decoded(code, size, mode) } {
        Ok(decoded) if !insn.is_null() => decoded,
        Ok(_) => return Status::Argument as i32,
        Err(status) => return status as i32,
    };
    let (target_kind, target_register) = flow::target(decoded.target(), Reg::number);
    let field = |field: Option<insn::x86::Field>| field.map_or((0, 0), |field| (field.offset, field.size));
    let (displacement_offset, displacement_size) = field(decoded.displacement());
    let (immediate_offset, immediate_size) = field(decoded.immediate());
    let effects = decoded.effects();
    let told = X86Insn {
        address: decoded.target_address(pc).or(decoded.rip_relative_address(pc)).unwrap_or(0),
        reads: flow::halves(effects.reads.bits()),
        writes: flow::halves(effects.writes.bits()),
        flags_read: effects.flags_read.bits(),
        flags_written: effects.flags_written.bits(),
        length: decoded.len() as u8,
        flow: flow::of(decoded.flow()),
        target_kind,
        target_register,
        opcode: decoded.opcode(),
        map: decoded.map() as u8,
        opcode_offset: decoded.opcode_offset() as u8,
        modrm_offset: decoded.modrm_offset().unwrap_or(0) as u8,
        displacement_offset,
        displacement_size,
        immediate_offset,
        immediate_size,
        operand_size: decoded.operand_size(),
        address_size: decoded.address_size(),
        is_rip_relative: u8::from(decoded.is_rip_relative()),
    };
    // SAFETY: the pointer is not null, and the caller vouches for it.
    unsafe { insn.write(told) };
    Status::Ok as i32
}

/// Writes the mnemonic of the instruction to `buffer`, cut to `capacity` bytes with the NUL. Returns the mnemonic's length without the NUL, 0
/// where there is none; 32 bytes are always enough.
///
/// # Safety
/// `code` is null or points to `size` bytes, and `buffer` is null or points to `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_x86_mnemonic(
    code: *const u8,
    size: usize,
    mode: u32,
    buffer: *mut c_char,
    capacity: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let decoded = unsafe { decoded(code, size, mode) };
    let text = decoded.as_ref().map_or("", |decoded| decoded.mnemonic());
    // SAFETY: the caller's promise.
    unsafe { copy_text(text, buffer, capacity) }
}

/// How a thread passes a breakpoint on the instruction at `pc`.
///
/// Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED where the plan is NTRACE_PLAN_KIND_REFUSE, or the errors of ntrace_x86_decode.
///
/// # Safety
/// `code` is null or points to `size` bytes, and `told` is null or points to a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_x86_plan(code: *const u8, size: usize, mode: u32, pc: u64, told: *mut Plan) -> i32 {
    // SAFETY: the caller's promise.
    let decoded = match unsafe { decoded(code, size, mode) } {
        Ok(decoded) if !told.is_null() => decoded,
        Ok(_) => return Status::Argument as i32,
        Err(status) => return status as i32,
    };
    let (kind, refusal, status) = match plan(&decoded, pc) {
        X86Plan::Emulate(_) => (PlanKind::Emulate, 0, Status::Ok),
        X86Plan::Slot(_) => (PlanKind::Slot, 0, Status::Ok),
        X86Plan::Refuse(refusal) => (PlanKind::Refuse, refusal.number() as u8, Status::Refused),
    };
    // SAFETY: the pointer is not null, and the caller vouches for it.
    unsafe { told.write(Plan { kind: kind as u8, refusal }) };
    status as i32
}

/// The code of a slot at `at` for the instruction at `pc`, also of an instruction that is emulated. The slot and the 16 bytes behind it have
/// to be within one mapping that the thread can execute. A slot within 2 GiB of `pc` needs a trap or a step less often.
///
/// Returns NTRACE_STATUS_OK, NTRACE_STATUS_REFUSED, or the errors of ntrace_x86_decode.
///
/// # Safety
/// `code` is null or points to `size` bytes, and `slot` is null or points to a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_x86_slot(
    code: *const u8,
    size: usize,
    mode: u32,
    pc: u64,
    at: u64,
    slot: *mut Slot,
) -> i32 {
    // SAFETY: the caller's promise.
    let decoded = match unsafe { decoded(code, size, mode) } {
        Ok(decoded) if !slot.is_null() => decoded,
        Ok(_) => return Status::Argument as i32,
        Err(status) => return status as i32,
    };
    let planned: X86Slot = match plan(&decoded, pc) {
        X86Plan::Emulate(emulate) => emulate.slot(),
        X86Plan::Slot(slot) => slot,
        X86Plan::Refuse(_) => return Status::Refused as i32,
    };
    let Some(told) = planned.assemble(at).ok().and_then(|code| Slot::of(&code, Reg::number)) else {
        return Status::Refused as i32;
    };
    // SAFETY: the pointer is not null, and the caller vouches for it.
    unsafe { slot.write(told) };
    Status::Ok as i32
}

/// Does what the instruction at `pc` does, by the functions of `thread`. The registers have the numbers that ntrace.h lists.
///
/// Returns a value of enum ntrace_emulation, NTRACE_STATUS_FAULT, NTRACE_STATUS_REFUSED where the plan is not NTRACE_PLAN_KIND_EMULATE, or the errors of
/// ntrace_x86_decode. After NTRACE_STATUS_FAULT the thread steps over the instruction in its slot, so that the processor raises the fault.
///
/// # Safety
/// `code` is null or points to `size` bytes. `thread` is null or points to a structure whose functions keep within the buffers that they get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntrace_x86_emulate(
    code: *const u8,
    size: usize,
    mode: u32,
    pc: u64,
    thread: *mut Thread,
) -> i32 {
    // SAFETY: the caller's promise.
    let decoded = match unsafe { decoded(code, size, mode) } {
        Ok(decoded) => decoded,
        Err(status) => return status as i32,
    };
    // SAFETY: the caller's promise; nothing else uses the structure during the call.
    let Some(thread) = (unsafe { thread.as_mut() }) else { return Status::Argument as i32 };
    let Some(calls) = thread.calls() else { return Status::Argument as i32 };
    let X86Plan::Emulate(emulate) = plan(&decoded, pc) else { return Status::Refused as i32 };
    let mut registers = Emulated { calls: &calls, thread };
    let outcome = emulate.run(&mut registers, &mut &calls);
    thread.end(outcome)
}

/// The registers of a thread of the caller's.
struct Emulated<'a> {
    calls: &'a Calls,
    thread: &'a Thread,
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
    fn shadow_stack(&self) -> bool {
        self.thread.has_shadow_stack != 0
    }
    fn linear_address_bits(&self) -> u32 {
        if self.thread.address_bits == 57 { 57 } else { 48 }
    }
    fn apx(&self) -> bool {
        self.thread.has_apx != 0
    }
}
