//! How a thread passes a breakpoint on an instruction: emulate it, run a copy of it out of line, or refuse, with a reason.
//!
//! # The model
//!
//! A breakpoint stays in place while threads pass it. [`x86::plan`] says, from the instruction and its address alone, how:
//!
//! - [`x86::Plan::Emulate`]: [`x86::Emulate::run`] does what the instruction does on the thread's registers and memory, and
//!   either completes or changes nothing and names the fault. The processor raises the fault itself: the thread steps the
//!   copy that [`x86::Emulate::slot`] makes.
//! - [`x86::Plan::Slot`]: the thread runs a copy at another address, in a *slot* of [`x86::SLOT_SIZE`] bytes written once.
//!   Most are *boosted*: a jump behind the copy leads back, so that passing costs no second trap. [`x86::Code::exit`] says how
//!   a thread leaves, [`x86::Code::scratch`] what to load before it enters, and [`x86::Code::original`] what every address in
//!   the slot means in the original code, so that a signal, a stop or an unwinder need never see a slot.
//! - [`x86::Plan::Refuse`]: no breakpoint can be set there, and why.
//!
//! Everything here is pure computation: registers and memory are reached only through [`x86::Registers`] and [`Memory`].
//! There is no allocation, no panic, and nothing that depends on anything but its arguments. A plan is complete: a back end
//! needs no knowledge of instructions.
//!
//! # Which class gets which plan (x86-64 and i386)
//!
//! | class | plan |
//! |---|---|
//! | near `jmp`, `call`, `jcc`, `loop`, `jcxz`, direct and indirect, `jmpabs` | emulate; the operand is read before the push; 66 truncates in 32-bit code and on AMD, and is ignored by Intel in 64-bit mode; 67 narrows the count; on AMD F2 and F3 choose the condition of `loope` and `loopne` |
//! | `ret`, `ret imm16` | emulate; with a shadow stack, so for `call`, its entry is pushed, compared and popped |
//! | `pushf`, `popf` | emulate; what user mode cannot change stays; `popf` that changes a flag which the back end cannot set runs its copy ([`x86::Outcome::Slot`]) |
//! | `nop`, `endbr`, the program's own `int3` | emulate |
//! | `syscall` in 64-bit mode | boosted, rcx corrected in the slot, so in the children of clone, fork and vfork too |
//! | `int n`, `sysenter`, `syscall` in 32-bit code | boosted; the kernel's way back is the program's |
//! | rip-relative operand | displacement rewritten within reach; else through a scratch register that the instruction neither reads nor writes, and a trap behind the copy |
//! | far `call` | single-stepped, then its return address corrected |
//! | far `jmp`, `lret`, `iret`, `uiret` | copy; control never comes back |
//! | `xbegin` | boosted, abort distance rewritten; an abort out of reach traps in the slot |
//! | privileged, undefined, and everything else, among it VEX, EVEX, `mov ss`, string, UMIP, `cpuid`, gathers, `xsave` | boosted; faults are translated to the site |
//! | `enclu`, `xbegin` with a 16-bit distance, 16-bit code | refused by name |
//!
//! Out of ±2 GiB the way back is an indirect jump through an aligned address in the slot; copies of more than 10 bytes leave
//! no room for it and trap. In 32-bit code everything is within reach.
//!
//! # Known deviations
//!
//! - After an x87 instruction in a slot the last x87 instruction's address (FIP, as `fnstenv`, `fnsave` and `fxsave` store it)
//!   is the slot's, and where a scratch register serves so is its opcode (FOP). On AMD a context switch loses it, slots or no.
//! - Hardware that records addresses (LBR, PEBS, IBS, Intel PT, AMD LWP, user interrupts) sees slots.
//! - A thread in a slot is not in its restartable sequence (rseq(2)): a sequence that is preempted there goes on where it
//!   should have been aborted.
//! - A transaction (RTM) is aborted by the breakpoint that it meets, as by any trap.
//! - Emulation takes es, cs, ss and ds as flat and stacks as 32 or 64 bits wide, as Linux makes them; MPX, which Linux has
//!   dropped, and indirect branch tracking, which Linux does not turn on for user code, are not modelled.
#![no_std]
#![forbid(unsafe_code)]

pub mod x86;

/// The debuggee's memory, as the thread at the site sees it.
pub trait Memory {
    /// Fills `buffer` from `address` on, or fails and says where the first byte that cannot be read lies.
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), Fault>;
    /// Writes all of `bytes` at `address`, or nothing.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault>;
    /// Writes to a shadow stack, which ordinary stores cannot.
    fn write_shadow_stack(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.write(address, bytes)
    }
}

/// What the processor would have raised in place of completing the instruction.
///
/// A back end that gets one lets the thread execute the plan's copy ([`x86::Emulate::slot`]) by a single step, so that the
/// processor itself raises the fault with every detail right; if that step completes after all (another thread mapped the
/// page, the stack grew), it puts the registers back and emulates again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Memory that cannot be accessed, by the address of the first such byte.
    Page(u64),
    /// A non-canonical address or branch target.
    NonCanonical(u64),
    /// An access at an odd address while the program checks alignment (AC in the flags).
    Alignment(u64),
    /// An access through a null selector, outside 64-bit mode.
    NullSelector(u16),
    /// An instruction of APX, which is not enabled.
    Undefined,
    /// The return address differs from the shadow stack's.
    ControlProtection(u64),
}
