//! A function of this process behind a jump: threads call it, signals interrupt it, and branches lead into the covered bytes.
#![cfg(target_arch = "x86_64")]

use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use insn::x86::Mode;
use trampoline::x86::{Displacement, Place, Probe, Site, Trampoline, Trap, covered, jump, mirror_jump};

const DISTANCE: i32 = 0x0606_0606;
const SIZE: usize = 0x800_0000;
const CALLS: u64 = 100_000;
const THREADS: u64 = 3;
/// Offset of the trampoline from the function.
const TRAMPOLINE: u64 = 0x1_0000;

/// lea 1(%rdi), %rax; nop; setc %cl; movzx %cl, %ecx; lea (%rax,%rcx,2), %rax; ret. Carry is alive at the entry, of which `branch` makes
/// both values; every instruction but the first can be branched to.
const CODE: &[u8] = &[0x48, 0x8d, 0x47, 0x01, 0x90, 0x0f, 0x92, 0xc1, 0x0f, 0xb6, 0xc9, 0x48, 0x8d, 0x04, 0x48, 0xc3];
/// Offset of a function whose loop branches into the bytes that the jump at its entry covers.
const LOOP: u64 = 0x2000;
/// mov %edi, %eax; 1: add $3, %eax; dec %edi; jnz 1b; ret
const LOOP_CODE: &[u8] = &[0x89, 0xf8, 0x83, 0xc0, 0x03, 0xff, 0xcf, 0x75, 0xf9, 0xc3];
/// Offset of a `nop` that the jump covers.
const INNER: u64 = 4;
/// Offset of code that sets rax to the second argument, moves bit 0 of the third to carry, and jumps to the first argument.
const ENTER: u64 = 0x100;
/// mov %rsi, %rax; bt $0, %edx; xchg %rdi, %r8; mov %rcx, %rdi; jmp *%r8
const ENTER_CODE: &[u8] =
    &[0x48, 0x89, 0xf0, 0x0f, 0xba, 0xe2, 0x00, 0x49, 0x87, 0xf8, 0x48, 0x89, 0xcf, 0x41, 0xff, 0xe0];

/// The sites and their trampolines, for the handler of signals.
static PROBED: [OnceLock<(u64, Displacement, Trampoline)>; 2] = [const { OnceLock::new() }; 2];
static COUNTER: AtomicU64 = AtomicU64::new(0);
static ROUNDS: AtomicU64 = AtomicU64::new(0);
static TRAPS: AtomicU64 = AtomicU64::new(0);

/// Sends a thread that trapped in a covered byte to its place in the trampoline.
extern "C" fn on_trap(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a `ucontext_t` to handlers that are installed with SA_SIGINFO.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let rip = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
    let entry = PROBED.iter().filter_map(OnceLock::get).find_map(|(site, displacement, trampoline)| {
        trampoline.entry(covered(*site, *displacement, Trap::Undefined, *rip as u64)?)
    });
    match entry {
        Some(entry) => {
            *rip = entry as i64;
            TRAPS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the call ends the process: the trap is none of the test's.
        None => unsafe { libc::abort() },
    }
}

extern "C" fn on_alarm(_: i32) {}

fn handle(signal: i32, handler: usize, flags: i32) {
    // SAFETY: all zero is a valid value of the structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler, flags | libc::SA_RESTART);
    // SAFETY: the handler is a function of the right type, which does nothing that a handler may not.
    assert_eq!(unsafe { libc::sigaction(signal, &raw const action, null_mut()) }, 0);
}

#[test]
fn threads_with_signals_and_branches_into_the_jump_see_nothing_and_every_call_counts() {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // The counter of a trampoline lies within reach of it.
    let near = (&raw const COUNTER as u64 & !0xfff).wrapping_sub(0x1000_0000);
    // SAFETY: a new mapping near an address that is only a hint.
    let start = unsafe { libc::mmap(near as *mut libc::c_void, SIZE, protection, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    let pc = start as u64;
    let write = |address: u64, bytes: &[u8]| {
        assert!((address - pc) as usize + bytes.len() <= SIZE);
        // SAFETY: the bytes are in the mapping, which no thread reads or executes yet.
        unsafe { (address as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    };
    write(pc, CODE);
    write(pc + ENTER, ENTER_CODE);
    let displacement = Displacement::new(DISTANCE).unwrap();
    let site = Site { pc, code: CODE, mode: Mode::INTEL_64, shadow_stack: false, keep_dead: false };
    let probe = Probe { arrivals: Some(&raw const COUNTER as u64), ..Probe::default() };
    let (mut bytes, mut places) = ([0; 512], [Place::EMPTY; 128]);
    let trampoline = site.assemble(&[probe], pc + TRAMPOLINE, &mut bytes, &mut places).unwrap();
    let mirror = displacement.mirror(pc);
    write(trampoline.at(), &bytes);
    write(mirror, &mirror_jump(mirror, trampoline.at()).unwrap());
    write(pc, &jump(displacement));
    assert!(PROBED[0].set((pc, displacement, trampoline)).is_ok());
    handle(libc::SIGILL, on_trap as *const () as usize, libc::SA_SIGINFO);
    handle(libc::SIGALRM, on_alarm as *const () as usize, 0);
    let interval = libc::timeval { tv_sec: 0, tv_usec: 500 };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: the structure is alive; the handler is installed.
    assert_eq!(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, null_mut()) }, 0);
    // SAFETY: the code takes integers and returns one, by the System V ABI.
    let enter: extern "C" fn(u64, u64, u64, u64) -> u64 = unsafe { std::mem::transmute((pc + ENTER) as usize) };
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            std::thread::spawn(move || {
                let mut entered = 0;
                for number in 0..CALLS {
                    let carry = number & 1;
                    if number % 97 == 0 {
                        // Into the covered `nop`, with a sum of its own.
                        assert_eq!(enter(pc + INNER, number + 5, carry, 0), number + 5 + 2 * carry);
                        entered += 1;
                    } else {
                        assert_eq!(enter(pc, 0, carry, number), number + 1 + 2 * carry);
                    }
                }
                entered
            })
        })
        .collect();
    let entered: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let never = libc::itimerval { it_interval: interval, it_value: libc::timeval { tv_sec: 0, tv_usec: 0 } };
    // SAFETY: the structure is alive.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const never, null_mut()) };
    assert_eq!(TRAPS.load(Ordering::Relaxed), entered);
    assert_eq!(COUNTER.load(Ordering::Relaxed), THREADS * CALLS - entered);

    let site = Site { pc: pc + LOOP, code: LOOP_CODE, ..site };
    let every = Probe { offset: 2, arrivals: Some(&raw const ROUNDS as u64), ..Probe::default() };
    let trampoline = site.assemble(&[probe, every], site.pc + TRAMPOLINE, &mut bytes, &mut places).unwrap();
    let mirror = displacement.mirror(site.pc);
    write(trampoline.at(), &bytes);
    write(mirror, &mirror_jump(mirror, trampoline.at()).unwrap());
    write(site.pc, LOOP_CODE);
    write(site.pc, &jump(displacement));
    assert!(PROBED[1].set((site.pc, displacement, trampoline)).is_ok());
    COUNTER.store(0, Ordering::Relaxed);
    for rounds in 1..50 {
        assert_eq!(enter(site.pc, 0, 0, rounds) as u32, rounds as u32 * 4);
    }
    assert_eq!((COUNTER.load(Ordering::Relaxed), ROUNDS.load(Ordering::Relaxed)), (49, 49 * 50 / 2));
}
