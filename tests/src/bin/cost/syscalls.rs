//! What a system call costs more if a session is told of it: over the module, where the thread runs on or is held, and over ptrace, as strace
//! does it.

use std::sync::atomic::{AtomicBool, Ordering};

use crossing::victim::Victim;
use ubp::{Mechanism, Options, Pid, Session, Syscalls};

/// Calls of one measurement.
const CALLS: u64 = 2000;

/// Makes system calls. Returns the time, in nanoseconds.
fn work(calls: u64) -> u64 {
    let begin = std::time::Instant::now();
    for _ in 0..calls {
        // SAFETY: getppid takes nothing and changes nothing.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    begin.elapsed().as_nanos() as u64
}

/// The time of the calls, of which a session is told.
fn told(victim: &mut Victim, mechanism: Mechanism, told_only: bool) -> Option<u64> {
    let mut options = Options::default();
    (options.signals, options.threads, options.told_only) = (false, false, told_only);
    options.syscalls = Syscalls::NONE.with(libc::SYS_getppid as u64);
    let mut session = Session::open(mechanism, options).ok()?;
    session.attach(Pid(victim.id() as i32)).expect("it may be traced");
    let done = AtomicBool::new(false);
    let mut events = 0;
    let time = std::thread::scope(|scope| {
        let answer = scope.spawn(|| {
            let time = victim.ask(CALLS);
            done.store(true, Ordering::Release);
            time
        });
        loop {
            let was_done = done.load(Ordering::Acquire);
            while let Some(event) = session.poll().expect("it lives") {
                events += u64::from(event.kind != ubp::EventKind::Interrupted);
                if event.is_held() {
                    session.resume(event.tid).expect("it is held");
                }
            }
            if was_done {
                return answer.join().expect("it answers");
            }
            std::thread::yield_now();
        }
    });
    assert_eq!(events, 2 * CALLS, "each call begins and ends");
    Some(time)
}

/// Measures, each so often, and prints the best.
pub(crate) fn table(title: &str, times: usize) {
    let mut victim = Victim::start(work);
    let plain = (0..=times).map(|_| victim.ask(CALLS)).skip(1).min().unwrap_or(0);
    let each = |time: u64| (time as f64 - plain as f64) / CALLS as f64;
    let ways = [
        ("the module", Mechanism::Kernel, true),
        ("the module, held", Mechanism::Kernel, false),
        ("ptrace", Mechanism::Ptrace, false),
    ];
    let costs = ways.map(|(name, mechanism, told_only)| {
        let best = (0..times).filter_map(|_| told(&mut victim, mechanism, told_only)).min();
        (name, best.map(each))
    });
    let of = costs.last().and_then(|(_, cost)| *cost);
    println!("{title:<40} {:>10} {:>10}", "more", "of ptrace");
    println!("{:<40} {:>10.0}", "alone", plain as f64 / CALLS as f64);
    for (name, cost) in costs {
        let ratio = cost.zip(of).map_or("-".to_owned(), |(cost, of)| format!("{:.3}", cost / of));
        println!("{name:<40} {:>10} {ratio:>10}", cost.map_or("-".to_owned(), |cost| format!("{cost:.0}")));
    }
}
