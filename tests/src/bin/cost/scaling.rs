//! The speed of two processors relative to one.

use std::sync::Barrier;
use std::time::Instant;

use crossing::victim::Victim;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::code::LOOPS;
use crate::{probed, uprobed};

/// Rounds of a loop without breakpoint, and with one.
const ROUNDS: u64 = 20_000_000;
const HITS: u64 = 100_000;
/// Measurements of which the best counts.
const TIMES: usize = 9;
/// A bit in the order of a loop: two processors run the loop, each as often as the order says.
const BOTH: u64 = 1 << 63;

/// Runs a loop as `order` says, on one processor or on each of two; returns nanoseconds.
pub(crate) fn time(function: unsafe extern "C" fn(u64), order: u64) -> u64 {
    let processors = if order & BOTH == 0 { 1 } else { 2 };
    let barrier = Barrier::new(processors);
    let work = |processor| {
        let mut set = CpuSet::new();
        set.set(processor).expect("a processor's number");
        sched_setaffinity(Pid::from_raw(0), &set).expect("there are as many processors");
        barrier.wait();
        let start = Instant::now();
        // SAFETY: the loops of `code` take a number that is not 0.
        unsafe { function(order & !BOTH) };
        start.elapsed().as_nanos() as u64
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..processors).map(|processor| scope.spawn(move || work(processor))).collect();
        let own = work(0);
        others.into_iter().map(|other| other.join().expect("it answers")).fold(own, u64::max)
    })
}

/// How much more two processors do in the same time.
fn speedup(victim: &mut Victim, rounds: u64) -> f64 {
    let mut best = |order| (0..TIMES).map(|_| victim.ask(order)).min().unwrap_or(u64::MAX);
    2.0 * best(rounds) as f64 / best(rounds | BOTH) as f64
}

/// Enters the kernel so often, as a hit does.
unsafe extern "C" fn enters(rounds: u64) {
    for _ in 0..rounds {
        // SAFETY: the call asks for a number.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

/// Measures, and prints.
pub(crate) fn table() {
    println!("{:<24} {:>9} {:>9} {:>9}", "two processors do", "bare", "module", "uprobe");
    for (name, work, site) in LOOPS {
        let (mut victim, site) = (Victim::start(*work), site() as u64);
        let bare = speedup(&mut victim, ROUNDS);
        let file = probed(&victim, site);
        let module = speedup(&mut victim, HITS);
        drop(file);
        let uprobe = uprobed(&victim, site).map(|_event| speedup(&mut victim, HITS));
        let uprobe = uprobe.map_or("-".to_owned(), |times| format!("{times:.2}x"));
        println!("{name:<24} {bare:>8.2}x {module:>8.2}x {uprobe:>9}");
    }
    let bare = speedup(&mut Victim::start(|order| time(enters, order)), HITS);
    println!("{:<24} {bare:>8.2}x", "system call");
}
