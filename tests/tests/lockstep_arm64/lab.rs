//! Memory for sites, slots and data, and a thread that runs there from any state until it gets a signal.

use std::arch::asm;
use std::cell::Cell;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crossing::signal;
use stepping::arm64::{BREAKPOINT, SLOT_SIZE};

use crate::state::{State, Stop};

/// Bytes of each mapping, as large as the largest page.
const SIZE: usize = 64 << 10;
/// Where mappings are: a site, slots within reach of a literal, of a branch, and of neither, and data.
const SITE: u64 = 0x4_0000_0000;
const SLOTS: [u64; 3] = [SITE + (512 << 10), SITE + (64 << 20), SITE + (512 << 20)];
const DATA: u64 = SITE - (16 << 20);
const DATA_SIZE: usize = 0x800;
/// `PROT_BTI` (asm/mman.h).
const GUARDED: i32 = 0x10;
/// Of the records of vector registers in a signal frame (asm/sigcontext.h).
const FPSIMD_MAGIC: u32 = 0x4650_8001;
const SVE_MAGIC: u32 = 0x5356_4501;
/// Of `__reserved` in `struct sigcontext`.
const RECORDS: usize = 288;
const SIGNALS: [i32; 4] = [libc::SIGTRAP, libc::SIGSEGV, libc::SIGILL, libc::SIGBUS];

static ONE: Mutex<()> = Mutex::new(());

/// The only one at a time.
pub(crate) struct Lab {
    guarded: bool,
    stack: Vec<u8>,
    _one: MutexGuard<'static, ()>,
}

/// What the signal handler is to do.
#[derive(Clone, Copy)]
enum Step {
    /// Keep the thread's own state in the second, and give it the first.
    Enter(*const State, *mut Own),
    /// Keep the state in the second, and give the thread its own again.
    Leave(*mut Own, *mut Stop),
}

/// The thread's own state.
#[derive(Clone)]
struct Own {
    state: State,
    stop: *mut Stop,
}

thread_local! {
    static STEP: Cell<Option<Step>> = const { Cell::new(None) };
}

impl Lab {
    pub(crate) fn new(guarded: bool) -> Lab {
        static HANDLERS: Once = Once::new();
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let code = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC | if guarded { GUARDED } else { 0 };
        for (at, protection) in
            [(DATA, libc::PROT_READ | libc::PROT_WRITE), (SITE, code)].into_iter().chain(SLOTS.map(|slot| (slot, code)))
        {
            map(at, protection);
        }
        let mut stack = vec![0_u8; 1 << 17];
        let alternative = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        // SAFETY: the stack lives as long as the lab, and no handler runs on it without a run.
        assert_eq!(unsafe { libc::sigaltstack(&alternative, null_mut()) }, 0);
        HANDLERS.call_once(|| {
            for signal in SIGNALS {
                signal::handle(signal, libc::SA_ONSTACK, on_signal);
            }
        });
        let lab = Lab { guarded, stack, _one: one };
        lab.place(&[]);
        lab
    }

    pub(crate) fn site(&self) -> u64 {
        SITE + 0x1000
    }

    pub(crate) fn data(&self) -> u64 {
        DATA
    }

    pub(crate) fn guarded(&self) -> bool {
        self.guarded
    }

    pub(crate) fn slots(&self) -> [u64; 3] {
        SLOTS.map(|slot| slot + 0x100)
    }

    /// Puts words at the site, and breakpoint instructions everywhere else.
    pub(crate) fn place(&self, words: &[u32]) {
        for area in [SITE].into_iter().chain(SLOTS) {
            self.write(area, &vec![BREAKPOINT; SIZE / 4]);
        }
        self.write(self.site(), words);
    }

    /// Writes code.
    pub(crate) fn write(&self, at: u64, words: &[u32]) {
        // SAFETY: the lab's own mapping, to which nobody has a reference.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), pointer(at).cast(), words.len()) };
        let line = line_size();
        let lines = || (at & !(line - 1)..at + size_of_val(words) as u64).step_by(line as usize);
        for line in lines() {
            // SAFETY: the instruction writes a line of the lab's mapping from the cache to memory, and changes no byte.
            unsafe { asm!("dc cvau, {0}", in(reg) line) };
        }
        // SAFETY: a barrier changes neither memory nor registers.
        unsafe { asm!("dsb ish") };
        for line in lines() {
            // SAFETY: the instruction makes the processor forget copies of code, which memory has.
            unsafe { asm!("ic ivau, {0}", in(reg) line) };
        }
        // SAFETY: as above.
        unsafe { asm!("dsb ish", "isb") };
    }

    pub(crate) fn fill_slot(&self, slot: u64, bytes: &[u8; SLOT_SIZE]) {
        let words: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        self.write(slot, &words);
    }

    /// What code and data hold; `None` elsewhere.
    pub(crate) fn read(&self, at: u64, buffer: &mut [u8]) -> Option<()> {
        let end = at.checked_add(buffer.len() as u64)?;
        let held = [DATA, SITE].into_iter().any(|area| at >= area && end <= area + SIZE as u64);
        // SAFETY: the lab's own mapping, which is as long.
        held.then(|| unsafe {
            std::ptr::copy_nonoverlapping(pointer(at).cast_const(), buffer.as_mut_ptr(), buffer.len())
        })
    }

    /// Runs a thread with fresh data until a signal.
    pub(crate) fn run(&self, state: &State) -> Stop {
        let data: Vec<u8> = (0..DATA_SIZE).map(|n| (n * 7) as u8).collect();
        // SAFETY: the lab's own mapping, to which nobody has a reference.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), pointer(DATA), data.len()) };
        self.go_on(state)
    }

    /// Runs a thread with data as they are until a signal.
    pub(crate) fn go_on(&self, state: &State) -> Stop {
        assert!(!self.stack.is_empty());
        let mut stop = Stop { state: state.clone(), signal: 0, code: 0, address: 0, data: vec![0; DATA_SIZE] };
        let mut own = Own { state: state.clone(), stop: &mut stop };
        STEP.set(Some(Step::Enter(state, &mut own)));
        // SAFETY: the handler comes back here with all registers as they were.
        unsafe { asm!("brk #1") };
        assert!(STEP.get().is_none(), "the handler did not leave");
        self.read(DATA, &mut stop.data).expect("the data are mapped");
        stop.state.guarded = state.guarded;
        stop
    }
}

/// Bytes of the shortest line of any cache.
fn line_size() -> u64 {
    let caches: u64;
    // SAFETY: reads a register, and does nothing else.
    unsafe { asm!("mrs {0}, ctr_el0", out(reg) caches) };
    // DminLine and IminLine are logarithms of numbers of words (Arm ARM, CTR_EL0).
    4 << (caches & 0xf).min(caches >> 16 & 0xf)
}

fn pointer(at: u64) -> *mut u8 {
    with_exposed_provenance_mut(at as usize)
}

fn map(at: u64, protection: i32) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: addresses that nothing else uses; a lab's mapping replaces the one before.
    let mapped = unsafe { libc::mmap(pointer(at).cast(), SIZE, protection, flags, -1, 0) };
    assert_eq!(mapped as u64, at, "{}", std::io::Error::last_os_error());
}

extern "C" fn on_signal(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) {
    match STEP.take() {
        // SAFETY: pointers into the frame of the thread that the signal interrupted, which waits.
        Some(Step::Enter(state, own)) => unsafe {
            load(context, &mut (*own).state);
            (*own).state.pc += 4;
            store(context, &*state);
            STEP.set(Some(Step::Leave(own, (*own).stop)));
        },
        // SAFETY: the same.
        Some(Step::Leave(own, stop)) => unsafe {
            load(context, &mut (*stop).state);
            ((*stop).signal, (*stop).code) = (signal, info.si_code);
            (*stop).address = info.si_addr() as u64;
            store(context, &(*own).state);
        },
        // SAFETY: a signal that is none of the lab's ends the test.
        None => unsafe { libc::abort() },
    }
}

/// # Safety
/// `context` is that of a signal handler.
unsafe fn load(context: *mut libc::ucontext_t, state: &mut State) {
    // SAFETY: the caller's promise.
    unsafe {
        let machine = &raw mut (*context).uc_mcontext;
        (state.general, state.sp) = ((*machine).regs, (*machine).sp);
        (state.pc, state.pstate) = ((*machine).pc, (*machine).pstate);
        let record = record(machine, FPSIMD_MAGIC).unwrap_or_else(|| libc::abort());
        state.floating = [record.cast::<u32>().add(2).read(), record.cast::<u32>().add(3).read()];
        for (number, vector) in state.vectors.iter_mut().enumerate() {
            *vector = record.add(16 + 16 * number).cast::<u128>().read_unaligned();
        }
    }
}

/// # Safety
/// `context` is that of a signal handler.
unsafe fn store(context: *mut libc::ucontext_t, state: &State) {
    // SAFETY: the caller's promise.
    unsafe {
        let machine = &raw mut (*context).uc_mcontext;
        ((*machine).regs, (*machine).sp) = (state.general, state.sp);
        ((*machine).pc, (*machine).pstate) = (state.pc, state.pstate);
        let vectors = record(machine, FPSIMD_MAGIC).unwrap_or_else(|| libc::abort());
        vectors.cast::<u32>().add(2).write(state.floating[0]);
        vectors.cast::<u32>().add(3).write(state.floating[1]);
        for (number, vector) in state.vectors.iter().enumerate() {
            vectors.add(16 + 16 * number).cast::<u128>().write_unaligned(*vector);
        }
        // The kernel takes the low parts from the record above, qemu-user from this one.
        let Some(scalable) = record(machine, SVE_MAGIC) else { return };
        let (size, length) = (scalable.cast::<u32>().add(1).read(), scalable.cast::<u16>().add(4).read());
        for (number, vector) in state.vectors.iter().enumerate() {
            let offset = 16 + usize::from(length) * number;
            if offset + 16 <= size as usize {
                scalable.add(offset).cast::<u128>().write_unaligned(*vector);
            }
        }
    }
}

/// The record of that kind.
///
/// # Safety
/// `machine` is that of a signal frame.
unsafe fn record(machine: *mut libc::mcontext_t, magic: u32) -> Option<*mut u8> {
    // SAFETY: the caller's promise; each record says how long it is, and one without a kind is the last.
    unsafe {
        let mut record = machine.cast::<u8>().add(RECORDS);
        loop {
            match record.cast::<u32>().read() {
                0 => return None,
                kind if kind == magic => return Some(record),
                _ => record = record.add(record.cast::<u32>().add(1).read() as usize),
            }
        }
    }
}
