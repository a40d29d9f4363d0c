//! The channel and signals that come when a thread has been counted at a breakpoint, and has not done its instruction.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossing::channel::{attach, open};
use crossing::debuggee::this_program;
use crossing::line::Line;
use crossing::sites::{counts, insert};
use crossing::victim::Victim;
use wire::commands::{Command, Reply};
use wire::events::Event;
use wire::site::{Site, action};

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: libc::c_int) {
    HANDLED.fetch_add(1, Relaxed);
}

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

/// Calls `leaf` so many times.
fn calls(number: u64) -> u64 {
    (0..number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

fn handle(signal: libc::c_int) {
    // SAFETY: the handler may run at any time.
    unsafe { libc::signal(signal, handler as *const () as usize) };
}

/// Calls `leaf` so many times while a signal comes every 50 microseconds; says how many came.
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

/// Calls `leaf` so many times; says how many signals came.
fn calls_and_handles(number: u64) -> u64 {
    handle(libc::SIGUSR1);
    calls(number);
    HANDLED.load(Relaxed)
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

    a_thread_that_is_signalled_while_it_is_held_is_held_once_for_a_hit {
        let mut victim = Victim::start(calls_and_handles);
        let mut line = Line::open();
        let debuggee = line.attach(victim.id(), 0).unwrap();
        let addresses = instructions();
        let site = |address: &u64| Site { address: *address, actions: action::HOLD, stack: 0, condition: None }.bytes();
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
