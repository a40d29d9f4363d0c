//! What a hit adds: instructions where the machine counts them as nanoseconds, else nanoseconds.

use std::sync::atomic::{AtomicBool, Ordering};

use crossing::victim::Victim;
use ubp::{Address, Options, Patch, Pid, Session, Spec};

use crate::code::LOOPS;
use crate::{probed, uprobed};

/// Hits of one measurement.
const HITS: u64 = 2000;

/// What each measurement adds to a hit, in nanoseconds: the best of `times`, after a first one that does not count.
fn measure(work: fn(u64) -> u64, site: u64, times: usize) -> [Option<f64>; 4] {
    let mut victim = Victim::start(work);
    let best = |victim: &mut Victim| (0..=times).map(|_| victim.ask(HITS)).skip(1).min().unwrap_or(0);
    let plain = best(&mut victim);
    let each = |time: u64| (time as f64 - plain as f64) / HITS as f64;

    let file = probed(&victim, site);
    let module = each(best(&mut victim));
    drop(file);

    let uprobe = uprobed(&victim, site).map(|_event| each(best(&mut victim)));

    let mut by_ptrace = |patch| (0..times).filter_map(|_| traced(&mut victim, site, patch)).min().map(each);
    [Some(module), uprobe, by_ptrace(Patch::Trap), by_ptrace(Patch::Jump)]
}

/// The time with a breakpoint by ptrace. `None`: there can be none.
fn traced(victim: &mut Victim, site: u64, patch: Patch) -> Option<u64> {
    let pid = Pid(victim.id() as i32);
    let mut session = Session::with_options(Options::default()).expect("a session");
    session.attach(pid).expect("it may be traced");
    let spec = Spec::count(Address(site)).patch(patch);
    let inserted = session.insert(pid, &[spec]).expect("it lives");
    assert!(patch == Patch::Jump || inserted.iter().all(Result::is_ok), "it can carry one");
    if inserted.iter().any(Result::is_err) {
        return None;
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| {
            let time = victim.ask(HITS);
            done.store(true, Ordering::Release);
            time
        });
        while !done.load(Ordering::Acquire) {
            session.poll().expect("it lives");
            std::thread::yield_now();
        }
        Some(answer.join().expect("it answers"))
    })
}

/// The least that a trap costs, where the kernel has a thread go on behind it and does nothing else.
#[cfg(target_arch = "x86_64")]
pub(crate) fn trap() {
    let time = |work| {
        let mut victim = Victim::start(work);
        victim.ask(HITS);
        victim.ask(HITS) as f64
    };
    println!("{:<24} {:>9.0}", "a trap alone", (time(crate::code::TRAP) - time(LOOPS[0].1)) / HITS as f64);
}

/// Measures, each so often, and prints.
pub(crate) fn table(title: &str, times: usize) {
    println!("{title:<24} {:>9} {:>9} {:>9} {:>9} {:>10}", "module", "uprobe", "ptrace", "jump", "of uprobe");
    for (name, work, site) in LOOPS {
        let cost = measure(*work, site() as u64, times);
        let cells = cost.map(|cost| cost.map_or("-".to_owned(), |cost| format!("{cost:.0}")));
        let ratio = match cost {
            [Some(module), Some(uprobe), ..] => format!("{:.2}", module / uprobe),
            _ => "-".to_owned(),
        };
        let [module, uprobe, ptrace, jump] = cells;
        println!("{name:<24} {module:>9} {uprobe:>9} {ptrace:>9} {jump:>9} {ratio:>10}");
    }
}
