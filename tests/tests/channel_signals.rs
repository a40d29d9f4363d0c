//! The channel and signals that come when a thread has been counted at a breakpoint, and has not done its instruction.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossing::channel::{ask, attach, open};
use crossing::debuggee::this_program;
use crossing::line::Line;
use crossing::signal;
use crossing::sites::{counts, insert};
use crossing::victim::Victim;
use wire::commands::{Command, Reply};
use wire::events::Event;
use wire::site::{Condition, Memory, Relation, Site, Subject, action};

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: libc::c_int) {
    HANDLED.fetch_add(1, Relaxed);
}

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

/// Calls `leaf` `number` times.
fn calls(number: u64) -> u64 {
    (0..number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

fn handle(signal: libc::c_int) {
    // SAFETY: the handler may run at any time.
    unsafe { libc::signal(signal, handler as *const () as usize) };
}

/// Calls `leaf` `number` times while a signal comes every 50 microseconds; returns the number of signals.
fn calls_in_a_storm(number: u64) -> u64 {
    handle(libc::SIGALRM);
    let storm = |microseconds| {
        let every = libc::timeval { tv_sec: 0, tv_usec: microseconds };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        // SAFETY: the timer is this function's.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
    };
    HANDLED.store(0, Relaxed);
    storm(50);
    calls(number);
    storm(0);
    HANDLED.load(Relaxed)
}

/// Calls `leaf` `number` times; returns the number of signals that came.
fn calls_and_handles(number: u64) -> u64 {
    handle(libc::SIGUSR1);
    calls(number);
    HANDLED.load(Relaxed)
}

static CALLED_AT: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_refusal(_: libc::c_int, info: &libc::siginfo_t, _: &mut libc::ucontext_t) {
    // SAFETY: `si_call_addr` stands where faults have their address.
    CALLED_AT.store(unsafe { info.si_addr() } as u64, Relaxed);
}

/// The system call that is refused.
const REFUSED: libc::c_long = libc::SYS_getpgid;

#[inline(never)]
extern "C" fn asks() {
    // SAFETY: the call reads and writes no memory.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("syscall", inout("rax") REFUSED => _, in("rdi") 0, out("rcx") _, out("r11") _);
    }
    // SAFETY: the same.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("svc #0", in("x8") REFUSED, inout("x0") 0_i64 => _);
    }
}

/// Asks for what a filter of its own refuses by a signal; says where the kernel says that it did.
fn is_refused(_: u64) -> u64 {
    let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, REFUSED as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_TRAP),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    if CALLED_AT.load(Relaxed) == 0 {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        signal::handle(libc::SIGSYS, 0, on_refusal);
        // SAFETY: the filter lives as long as the calls, which copy it.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
        }
    }
    asks();
    CALLED_AT.load(Relaxed)
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(".globl traps", ".type traps, @function", "traps: int3", "ret");
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(".globl traps", ".type traps, %function", "traps: brk #1", "ret");

unsafe extern "C" {
    /// Begins with a breakpoint instruction of the program's own.
    safe fn traps();
}

extern "C" fn on_trap(signal: libc::c_int, _: &libc::siginfo_t, context: &mut libc::ucontext_t) {
    handler(signal);
    let _ = &context;
    #[cfg(target_arch = "aarch64")]
    {
        context.uc_mcontext.pc += 4;
    }
}

/// Runs into its own breakpoint instruction `number` times; returns the number of signals that came.
fn traps_and_handles(number: u64) -> u64 {
    signal::handle(libc::SIGTRAP, 0, on_trap);
    (0..number).for_each(|_| traps());
    HANDLED.swap(0, Relaxed)
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(".globl triples", ".type triples, @function", "triples: imul rax, rdi, 3", "ret");
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(".globl triples", ".type triples, %function", "triples: mul x0, x0, x0", "ret");

unsafe extern "C" {
    /// Begins with an instruction that is carried out in a slot.
    safe fn triples(number: u64) -> u64;
}

/// The most interrupted hits of a process that the module remembers.
const TOGETHER: u64 = 64;

static INTERRUPTED: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_all(signal: libc::c_int, _: &libc::siginfo_t, context: &mut libc::ucontext_t) {
    INTERRUPTED.fetch_add(u64::from(signal::pc(context) == triples as *const () as u64), Relaxed);
    handler(signal);
    while HANDLED.load(Relaxed) < TOGETHER {
        std::thread::yield_now();
    }
}

/// Has `TOGETHER` threads call `triples` once each; says how many of them a signal interrupted there. No handler returns before all
/// have begun.
fn are_interrupted_together(_: u64) -> u64 {
    signal::handle(libc::SIGUSR1, 0, on_all);
    std::thread::scope(|scope| (0..TOGETHER).for_each(|number| drop(scope.spawn(move || triples(number)))));
    INTERRUPTED.load(Relaxed)
}

/// The addresses of `leaf`'s instructions.
fn instructions() -> Vec<u64> {
    this_program().function(leaf as *const () as u64).instructions()
}

crossing::channel_tests! {
    a_hit_that_a_signal_interrupts_is_counted_once {
        let mut victim = Victim::start(calls_in_a_storm);
        let sites = instructions();
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        let (mut handled, mut calls) = (0, 0);
        while handled < 300 {
            handled += victim.ask(1000);
            calls += 1000;
        }
        assert_eq!(counts(&mut file, debuggee, &sites), Ok(vec![calls; sites.len()]));
    }

    a_hit_that_waits_at_the_programs_own_breakpoint_instruction_is_counted_once {
        let mut victim = Victim::start(traps_and_handles);
        assert_eq!(victim.ask(10), 10);
        let address = traps as *const () as u64;
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        // To compare its hits it waits on the way to user mode.
        let never = Condition { subject: Subject::Hits, relation: Relation::Equal, value: u64::MAX };
        let sites = Site { address, actions: action::HOLD, memory: Memory::NONE, condition: Some(never) }.bytes();
        ask(&mut file, Command::Insert { debuggee, sites: &sites }, |told| assert!(told.is_ok(), "{told:?}"));
        assert_eq!(victim.ask(100), 100);
        assert_eq!(counts(&mut file, debuggee, &[address]), Ok(vec![100]));
    }

    as_many_hits_as_are_remembered_are_interrupted_together_and_counted_once {
        let mut victim = Victim::start(are_interrupted_together);
        let mut line = Line::open();
        let debuggee = line.attach(victim.id(), 0).unwrap();
        let address = triples as *const () as u64;
        // A hit that is counted a second time does not hold its thread a second time.
        let first = Condition { subject: Subject::Hits, relation: Relation::Below, value: TOGETHER + 1 };
        let sites = Site { address, actions: action::HOLD, memory: Memory::NONE, condition: Some(first) }.bytes();
        line.ask(Command::Insert { debuggee, sites: &sites }, |told| {
            assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
        });
        victim.order(0);
        for thread in (0..TOGETHER).map(|_| line.held().0).collect::<Vec<_>>() {
            // SAFETY: it lives, and has a handler.
            unsafe { libc::syscall(libc::SYS_tgkill, victim.id(), thread, libc::SIGUSR1) };
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        }
        assert_eq!(victim.answer(), TOGETHER);
        line.ask(Command::Counts { debuggee, addresses: &address.to_ne_bytes() }, |told| {
            assert_eq!(told, Ok(Reply::Counts { counts: &TOGETHER.to_ne_bytes() }));
        });
    }

    a_call_that_a_filter_refuses_is_told_of_by_its_own_address {
        let mut victim = Victim::start(is_refused);
        let alone = victim.ask(0);
        let sites = this_program().function(asks as *const () as u64).instructions();
        assert!(sites.iter().any(|site| (site + 1..=site + 4).contains(&alone)), "{alone:#x} {sites:x?}");
        let mut file = open();
        let debuggee = attach(&mut file, victim.id()).unwrap();
        assert_eq!(insert(&mut file, debuggee, &sites), Ok((sites.len() as u64, vec![])));
        assert_eq!(victim.ask(0), alone);
        assert_eq!(counts(&mut file, debuggee, &sites), Ok(vec![1; sites.len()]));
    }

    a_thread_that_is_signalled_while_it_is_held_is_held_once_for_a_hit {
        let mut victim = Victim::start(calls_and_handles);
        let mut line = Line::open();
        let debuggee = line.attach(victim.id(), 0).unwrap();
        let addresses = instructions();
        let site = |address: &u64| Site { address: *address, actions: action::HOLD, memory: Memory::NONE, condition: None }.bytes();
        let sites: Vec<u8> = addresses.iter().flat_map(site).collect();
        line.ask(Command::Insert { debuggee, sites: &sites }, |told| {
            assert_eq!(told, Ok(Reply::Insert { inserted: addresses.len() as u64, failures: &[] }));
        });
        victim.order(5);
        let thread = victim.id().into();
        for at in [&addresses[..]; 5].concat() {
            line.event(|event| assert!(matches!(event, Event::Held { address, .. } if address == at), "{at:#x}: {event:x?}"));
            // SAFETY: it lives, and has a handler.
            unsafe { libc::kill(victim.id() as i32, libc::SIGUSR1) };
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        }
        assert_eq!(victim.answer(), 5 * addresses.len() as u64);
    }
}
