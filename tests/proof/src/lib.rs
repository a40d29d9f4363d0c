//! Everything that insn, stepping, trampoline, wire and ubp's core offer, behind symbols that can be linked one by one.
//!
//! The panic handler calls a function that nothing defines: a link succeeds only where no panic can be reached.
#![no_std]

mod channel;
#[cfg(feature = "trampoline")]
mod trampoline;

use core::hint::black_box;
use core::ops::Range;
use core::panic::PanicInfo;

use insn::Target;
use insn::x86::{Bits, Branch, Insn, Mode, Reg, Vendor, dead, dead_among, decode, starts};
use stepping::x86::{Mmio, Registers, kprobe, kprobe_address, kprobe_at, optimized, plan, uprobe};
use stepping::{Code, Fault, KprobeKernel, Memory, Plan};
use ubp::core::glob::is_path;
use ubp::core::{Arena, Entry, Inaccessible, Layout, State, passing};

unsafe extern "C" {
    safe fn a_panic_can_be_reached() -> !;
    safe fn get_register(number: u8) -> u64;
    safe fn set_register(number: u8, value: u64);
    safe fn read_memory(address: u64, buffer: *mut u8, length: usize) -> u64;
    safe fn write_memory(address: u64, bytes: *const u8, length: usize) -> u64;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    a_panic_can_be_reached()
}

/// Any mode.
fn mode(number: u8) -> Mode {
    let bits = match number & 3 {
        0 => Bits::B16,
        1 => Bits::B32,
        _ => Bits::B64,
    };
    let vendor = if number & 4 == 0 { Vendor::Intel } else { Vendor::Amd };
    let mode = Mode::new(bits, vendor);
    if number & 8 == 0 { mode } else { mode.lenient() }
}

/// # Safety
/// `bytes` points to `length` bytes.
unsafe fn decoded(bytes: *const u8, length: usize, number: u8) -> Option<Insn> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, length) };
    decode(bytes, mode(number)).ok()
}

/// Length, class, target and validity: 0 where the bytes are no instruction.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn insn_classify(bytes: *const u8, length: usize, number: u8, pc: u64) -> u64 {
    // SAFETY: the caller's promise.
    let Some(insn) = (unsafe { decoded(bytes, length, number) }) else { return 0 };
    insn.len() as u64 | (insn.flow() as u64) << 8 | insn.target_address(pc).unwrap_or(0) << 16
}

/// Every question that an instruction answers.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn insn_everything(bytes: *const u8, length: usize, number: u8, pc: u64) {
    // SAFETY: the caller's promise.
    let Some(insn) = (unsafe { decoded(bytes, length, number) }) else { return };
    black_box((insn.len(), insn.bytes().len(), insn.mode(), insn.encoding(), insn.map(), insn.opcode()));
    black_box((
        insn.opcode_offset(),
        insn.prefixes(),
        insn.modrm_offset(),
        insn.modrm(),
        insn.sib_offset(),
        insn.sib(),
    ));
    black_box((insn.reg(), insn.rm(), insn.w(), insn.vvvv(), insn.displacement(), insn.immediate(), insn.immediate2()));
    black_box((insn.operand_size(), insn.address_size(), insn.memory(), insn.implicit_memory()));
    black_box((insn.is_rip_relative(), insn.rip_relative_address(pc), insn.flow(), insn.target()));
    black_box((insn.target_address(pc), insn.reads(), insn.writes(), insn.flags_read(), insn.flags_written()));
    black_box((insn.effects(), insn.prefix_len()));
}

/// What an instruction reads and writes.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn insn_effects(bytes: *const u8, length: usize, number: u8, pc: u64) -> u64 {
    // SAFETY: the caller's promise.
    if let Some(insn) = unsafe { decoded(bytes, length, number) } {
        black_box(insn.effects());
    }
    // SAFETY: the caller's promise.
    unsafe { insn_classify(bytes, length, number, pc) }
}

/// Every question about many instructions. The answers go to arrays of `room` elements.
///
/// # Safety
/// `bytes` points to `length` bytes, `places` and `branches` to `room` elements that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn insn_scans(
    bytes: *const u8,
    length: usize,
    number: u8,
    places: *mut u32,
    branches: *mut Branch,
    room: usize,
) {
    // SAFETY: the caller's promise.
    let code = unsafe { core::slice::from_raw_parts(bytes, length) };
    // SAFETY: the caller's promise.
    let places = unsafe { core::slice::from_raw_parts_mut(places, room) };
    // SAFETY: the caller's promise.
    let found = unsafe { core::slice::from_raw_parts_mut(branches, room) };
    let mode = mode(number);
    black_box((starts(code, mode, places), insn::x86::branches(code, mode, found)));
    let all = dead(code, room, mode);
    black_box(dead_among(code, room, mode, all));
}

/// Name and operands of the instruction at `bytes`.
///
/// # Safety
/// `length` bytes can be read there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn insn_names(bytes: *const u8, length: usize, number: u8) {
    // SAFETY: the caller's promise.
    let Some(insn) = (unsafe { decoded(bytes, length, number) }) else { return };
    black_box((insn.mnemonic(), insn.rex(), insn.opcode_extension()));
    for operand in insn.operands() {
        black_box(operand);
    }
}

/// Name and operands of an A64 word.
#[unsafe(no_mangle)]
pub extern "C" fn arm64_names(word: u32) {
    if let Ok(insn) = insn::arm64::decode(word) {
        black_box(insn.mnemonic());
        for operand in insn.operands() {
            black_box(operand);
        }
    }
}

/// Class, target and validity of an A64 word, by all look-ups: a small number where it is no instruction.
#[unsafe(no_mangle)]
pub extern "C" fn arm64_classify(word: u32, pc: u64) -> u64 {
    if pc == 0 {
        return insn::arm64::flow_of_allocated(word) as u64;
    }
    let insn = if pc == 1 { Ok(insn::arm64::decode_allocated(word)) } else { insn::arm64::decode(word) };
    let Ok(insn) = insn else { return 0 };
    let target = match insn.target() {
        Target::Relative(distance) => pc.wrapping_add_signed(distance),
        Target::Register(register) => register.number().into(),
        _ => 0,
    };
    1 << 8 | (insn.flow() as u64) << 9 | target << 16
}

/// What an A64 word reads and writes.
#[unsafe(no_mangle)]
pub extern "C" fn arm64_effects(word: u32, pc: u64) -> u64 {
    if let Ok(insn) = insn::arm64::decode(word) {
        black_box(insn.effects());
    }
    arm64_classify(word, pc)
}

/// Every question that an A64 instruction answers.
#[unsafe(no_mangle)]
pub extern "C" fn arm64_everything(word: u32, pc: u64) {
    let Ok(insn) = insn::arm64::decode(word) else { return };
    black_box((insn.word(), insn.flow(), insn.target(), insn.target_address(pc)));
    black_box((insn::arm64::flow_of_allocated(word), insn::arm64::decode_allocated(word)));
    black_box((insn.pc_relative().map(|way| way.address(pc)), insn.kind(), insn.condition(), insn.exclusive()));
    black_box((insn.landing_pad(), insn.trap(), insn.is_unpredictable(), insn.memory(), insn.memories()));
    black_box((insn.reads(), insn.writes(), insn.flags_read(), insn.flags_written(), insn.effects()));
}

struct Thread;

impl Registers for Thread {
    fn get(&self, reg: Reg) -> u64 {
        get_register(reg.number())
    }
    fn set(&mut self, reg: Reg, value: u64) {
        set_register(reg.number(), value);
    }
}

impl Memory for Thread {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        fault(read_memory(address, buffer.as_mut_ptr(), buffer.len()))
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        fault(write_memory(address, bytes.as_ptr(), bytes.len()))
    }
}

fn fault(address: u64) -> Result<(), Fault> {
    if address == 0 { Ok(()) } else { Err(Fault::Page(address)) }
}

fn translations<R: Copy + PartialEq>(code: &Code<R>, offset: u8) {
    black_box(code.boosted());
    if let Some(place) = code.original(offset) {
        black_box(code.offset(place.pc, place.progress));
    }
}

/// Any kernel, whose tables may be out of order.
fn kernel<'a>(number: u8, addresses: &'a [u64], ranges: &'a [Range<u64>]) -> KprobeKernel<'a> {
    KprobeKernel {
        preemption: number & 16 == 0,
        jump_tables: number & 32 == 0,
        blacklist: ranges,
        patched: ranges,
        ftrace: addresses,
        bugs: addresses,
        fixups: addresses,
    }
}

/// Plan, slot at any address, translation of addresses, emulation.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepping_everything(bytes: *const u8, length: usize, number: u8, pc: u64, at: u64) {
    // SAFETY: the caller's promise.
    let Some(insn) = (unsafe { decoded(bytes, length, number) }) else { return };
    if let Some(mmio) = Mmio::of(&insn, pc) {
        let _ = black_box((mmio.address(&Thread), mmio.run(&mut Thread, &mut Thread)));
    }
    black_box(uprobe(&insn));
    // SAFETY: the caller's promise.
    let code = unsafe { core::slice::from_raw_parts(bytes, length) };
    let (addresses, ranges) = ([at, at.wrapping_add(pc)], [at..pc, pc..at]);
    let kernel = kernel(number, &addresses, &ranges);
    let _ =
        black_box((kprobe(&insn, &kernel), kprobe_address(code, at), kprobe_at(code, at, pc, mode(number), &kernel)));
    let _ = black_box(optimized(code, at, pc, mode(number), &kernel));
    match plan(&insn, pc) {
        Plan::Emulate(emulate) => {
            let _ = black_box(emulate.run(&mut Thread, &mut Thread));
            if let Ok(code) = emulate.slot().assemble(at) {
                translations(&code, at as u8);
            }
        }
        Plan::Slot(slot) => {
            if let Ok(code) = slot.assemble(at) {
                translations(&code, at as u8);
            }
        }
        Plan::Refuse(reason) => {
            black_box(reason);
        }
    }
}

impl stepping::arm64::Registers for Thread {
    fn get(&self, reg: insn::arm64::Reg) -> u64 {
        get_register(reg.number())
    }
    fn set(&mut self, reg: insn::arm64::Reg, value: u64) {
        set_register(reg.number(), value);
    }
    fn branch_type(&self) -> u8 {
        get_register(0) as u8
    }
    fn set_branch_type(&mut self, branch_type: u8) {
        set_register(0, branch_type.into());
    }
    fn guarded(&self) -> bool {
        get_register(1) != 0
    }
    fn control_stack(&self) -> bool {
        get_register(2) != 0
    }
}

/// The same of A64: an instruction alone, and a word of code.
///
/// # Safety
/// `code` points to `length` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepping_arm64_everything(code: *const u32, length: usize, index: usize, pc: u64, at: u64) {
    // SAFETY: the caller's promise.
    let code = unsafe { core::slice::from_raw_parts(code, length) };
    let Some(Ok(insn)) = code.get(index).map(|word| insn::arm64::decode(*word)) else { return };
    let (addresses, ranges) = ([at, at.wrapping_add(pc)], [at..pc, pc..at]);
    let kernel = kernel(index as u8, &addresses, &ranges);
    black_box((stepping::arm64::kprobe(&insn), stepping::arm64::kprobe_at(code, at, pc, &kernel)));
    for plan in [stepping::arm64::plan(&insn, pc), stepping::arm64::plan_in(&insn, pc, code, index)] {
        let slot = match plan {
            Plan::Emulate(emulate) => {
                let _ = black_box(emulate.run(&mut Thread, &mut Thread));
                emulate.slot()
            }
            Plan::Slot(slot) => slot,
            Plan::Refuse(reason) => {
                black_box(reason);
                continue;
            }
        };
        if let Ok(code) = slot.assemble(at) {
            translations(&code, at as u8);
        }
    }
}

/// The mode of the code in a debuggee of this architecture.
#[cfg(target_arch = "x86_64")]
fn code_mode(number: u8) -> ubp::arch::Mode {
    mode(number)
}

/// The mode of the code in a debuggee of this architecture: there is one.
#[cfg(target_arch = "aarch64")]
fn code_mode(_: u8) -> ubp::arch::Mode {
    ubp::arch::Mode::default()
}

struct Debuggee;

impl ubp::core::Memory for Debuggee {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        fault(read_memory(offset, buffer.as_mut_ptr(), buffer.len())).map_err(|_| Inaccessible { offset })
    }
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        fault(write_memory(offset, bytes.as_ptr(), bytes.len())).map_err(|_| Inaccessible { offset })
    }
}

/// Table and slots over memory that holds anything.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubp_everything(bytes: *const u8, length: usize, number: u8, pc: u64, capacity: u32) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, length) };
    black_box(is_path(bytes, &number.to_ne_bytes()));
    let layout = Layout::new(capacity);
    let Ok(mut arena) = Arena::create(Debuggee, pc, layout, u32::from(number), [number; 8]) else { return };
    black_box((arena.base(), arena.layout().size(), arena.gate(), arena.contains(pc)));
    black_box((
        arena.count().is_ok(),
        arena.high_water().is_ok(),
        arena.is_full().is_ok(),
        arena.next_number().is_ok(),
    ));
    let mut entry = Entry::new(pc, bytes);
    if let Ok(number) = arena.insert(&entry, &[0xcc; 32]) {
        black_box(arena.set_slot(number, &[0x90; 32]).is_ok());
    }
    if let Some((slot, offset)) = arena.slot_at(pc) {
        black_box((offset, arena.slot(slot)));
        if let Ok(found) = arena.entry(slot) {
            black_box(passing(&found, arena.slot(slot), code_mode(number)).is_ok_and(|way| way.code().boosted()));
        }
    }
    if let Ok(Some((slot, found))) = arena.find(pc) {
        entry.set_bytes(found.bytes());
        entry.state = State::Retired;
        black_box((arena.set_entry(slot, &entry).is_ok(), arena.release(slot).is_ok()));
    }
}
