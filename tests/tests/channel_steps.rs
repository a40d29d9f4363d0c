//! The channel and steps: a held thread carries out one instruction, and is held again.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossing::debuggee::{is_system_call, this_program};
use crossing::line::Line;
use crossing::thread;
use crossing::victim::Victim;
use wire::commands::{Command, Reply};
use wire::site::{Memory, Site, action};
use wire::{Failure, Status};

/// Reasons to be held.
const BREAKPOINT: u64 = 1;
const STEP: u64 = 2;
const HOLD: u64 = 3;

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

/// Calls `leaf` with 1, 2, 3 and so on.
fn calls(number: u64) -> u64 {
    (1..=number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

/// Goes round its loop `number` times.
#[inline(never)]
extern "C" fn rounds(number: u64) -> u64 {
    let mut sum = 1u64;
    for round in 0..number {
        sum = std::hint::black_box(sum.wrapping_mul(3) ^ round);
    }
    sum
}

fn goes_round(number: u64) -> u64 {
    rounds(std::hint::black_box(number))
}

/// Asks the kernel for the process' number.
#[inline(never)]
extern "C" fn asks() -> u64 {
    let number: u64;
    // SAFETY: a system call that changes nothing.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("syscall", inlateout("rax") libc::SYS_getpid => number, out("rcx") _, out("r11") _);
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("svc #0", in("x8") libc::SYS_getpid, out("x0") number);
    }
    number
}

fn asks_and_adds(number: u64) -> u64 {
    asks() + number
}

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: libc::c_int) {
    HANDLED.fetch_add(1, Relaxed);
}

/// Calls `leaf`; says how often the handler of a signal was called.
fn handles(number: u64) -> u64 {
    // SAFETY: the handler may run at any time.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as usize) };
    calls(number);
    HANDLED.load(Relaxed)
}

/// Ends the thread.
#[inline(never)]
extern "C" fn ends() -> ! {
    // SAFETY: the thread has nothing that would be left.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("syscall", in("rax") libc::SYS_exit, in("rdi") 0, options(noreturn));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("svc #0", in("x8") libc::SYS_exit, in("x0") 0, options(noreturn));
    }
}

/// Sends itself a signal, and calls `leaf` behind it.
extern "C" fn signals_itself() -> ! {
    // SAFETY: its handler may run at any time.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), libc::SIGUSR1) };
    leaf(1);
    ends()
}

/// Makes a thread that ends, and another one of the same number that is signalled; says how often the handler was called.
fn is_followed(_: u64) -> u64 {
    // SAFETY: the handler may run at any time.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as usize) };
    let number = thread::make(0, ends).expect("a thread");
    while thread::make(number, signals_itself).is_none() {}
    HANDLED.load(Relaxed)
}

/// A process that is held at the first instruction of a function.
struct Held {
    victim: Victim,
    line: Line,
    debuggee: u64,
    thread: u64,
}

impl Held {
    fn start(work: fn(u64) -> u64, number: u64, function: u64) -> Held {
        let mut victim = Victim::start(work);
        let mut line = Line::open();
        let debuggee = line.attach(victim.id(), 0).unwrap();
        let site = Site { address: function, actions: action::HOLD, memory: Memory::NONE, condition: None };
        line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| {
            assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
        });
        victim.order(number);
        let (thread, reason, address) = line.held();
        assert_eq!((reason, address), (BREAKPOINT, function));
        Held { victim, line, debuggee, thread }
    }

    /// Why and where it is held next.
    fn next(&mut self) -> (u64, u64) {
        let (thread, reason, address) = self.line.held();
        assert_eq!(thread, self.thread);
        (reason, address)
    }

    /// Has it carry out an instruction; gives why and where it is held then.
    fn step(&mut self) -> (u64, u64) {
        let thread = self.thread;
        assert_eq!(self.line.done(Command::Step { thread }), Ok(()));
        self.next()
    }

    fn resume(&mut self) {
        let thread = self.thread;
        assert_eq!(self.line.done(Command::Resume { thread }), Ok(()));
    }

    fn maps(&self) -> usize {
        std::fs::read_to_string(format!("/proc/{}/maps", self.victim.id())).unwrap().lines().count()
    }
}

/// The addresses of a function's instructions.
fn instructions(function: u64) -> Vec<u64> {
    this_program().function(function).instructions()
}

crossing::channel_tests! {
    a_step_carries_out_one_instruction {
        let function = leaf as *const () as u64;
        let sites = instructions(function);
        let mut held = Held::start(calls, 3, function);
        for call in 0..3 {
            if call > 0 {
                assert_eq!(held.next(), (BREAKPOINT, function));
            }
            for site in &sites[1..] {
                assert_eq!(held.step(), (STEP, *site));
            }
            let (reason, address) = held.step();
            assert_eq!(reason, STEP);
            assert!(!sites.contains(&address), "{address:#x} after a return");
            held.resume();
        }
        assert_eq!(held.victim.answer(), calls(3));
    }

    a_step_goes_over_a_system_call_and_no_further {
        let function = asks as *const () as u64;
        let sites = instructions(function);
        let mut held = Held::start(asks_and_adds, 5, function);
        for site in &sites[1..] {
            assert_eq!(held.step(), (STEP, *site));
        }
        held.resume();
        assert_eq!(held.victim.answer(), held.thread + 5);
    }

    many_steps_go_where_the_program_goes_and_take_no_more_storage {
        const ROUNDS: u64 = 200;
        let function = rounds as *const () as u64;
        let sites = instructions(function);
        let mut held = Held::start(goes_round, ROUNDS, function);
        assert_eq!(held.step().0, STEP);
        let before = held.maps();
        let mut steps = 1;
        loop {
            let (reason, address) = held.step();
            assert_eq!(reason, STEP);
            steps += 1;
            if !sites.contains(&address) {
                break;
            }
        }
        assert!(steps > 2 * ROUNDS, "{steps} steps");
        assert_eq!(held.maps(), before);
        held.resume();
        assert_eq!(held.victim.answer(), goes_round(ROUNDS));
    }

    a_handler_that_comes_before_the_step_is_held_at_its_beginning {
        let mut held = Held::start(handles, 1, leaf as *const () as u64);
        // SAFETY: plain numbers.
        assert_eq!(unsafe { libc::kill(held.victim.id() as i32, libc::SIGUSR1) }, 0);
        assert_eq!(held.step(), (HOLD, handler as *const () as u64));
        let sites = instructions(handler as *const () as u64);
        assert_eq!(held.step(), (STEP, sites[1]));
        held.resume();
        // The instruction was not carried out before: it comes again.
        assert_eq!(held.next(), (BREAKPOINT, leaf as *const () as u64));
        held.resume();
        assert_eq!(held.victim.answer(), 1);
    }

    a_session_that_ends_while_a_thread_steps_lets_it_run {
        for _ in 0..20 {
            let Held { mut victim, mut line, thread, debuggee } = Held::start(calls, 1, leaf as *const () as u64);
            assert_eq!(line.done(Command::Step { thread }), Ok(()));
            assert_eq!(line.done(Command::Detach { debuggee }), Ok(()));
            drop(line);
            assert_eq!(victim.answer(), calls(1));
        }
    }

    a_thread_that_ends_in_its_step_leaves_nothing_to_one_that_has_its_number {
        let mut held = Held::start(is_followed, 0, ends as *const () as u64);
        let site = Site { address: leaf as *const () as u64, actions: action::HOLD, memory: Memory::NONE, condition: None };
        held.line.ask(Command::Insert { debuggee: held.debuggee, sites: &site.bytes() }, |told| {
            assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
        });
        let sites = instructions(ends as *const () as u64);
        let call = sites.iter().position(|site| is_system_call(*site)).unwrap();
        for site in &sites[1..=call] {
            assert_eq!(held.step(), (STEP, *site));
        }
        let thread = held.thread;
        assert_eq!(held.line.done(Command::Step { thread }), Ok(()));
        // Not at the beginning of the handler, as it would be if it were the one that steps.
        assert_eq!(held.next(), (BREAKPOINT, leaf as *const () as u64));
        held.resume();
        assert_eq!(held.next(), (BREAKPOINT, ends as *const () as u64));
        held.resume();
        assert_eq!(held.victim.answer(), 1);
    }

    only_a_held_thread_steps {
        let victim = Victim::start(calls);
        let mut line = Line::open();
        line.attach(victim.id(), 0).unwrap();
        let thread = victim.id().into();
        assert_eq!(line.done(Command::Step { thread }), Err(Failure::new(Status::NotHeld, thread)));
    }
}
