//! Measures a hit of the module that is counted, decided by a condition, summed up, or recorded and read. Each is compared with a hit of a uprobe that
//! a perf event counts.

use std::time::Instant;

use crossing::victim::Victim;
use ubp::core::Buckets;
use ubp::{
    Address, Aggregation, AggregationKey, Buffer, Comparison, Mechanism, Operand, Options, Pid, Session, Spec, WhenFull,
};

use crate::code::{ARGUMENT, LOOPS};
use crate::uprobed;

/// Hits of one measurement.
const HITS: u64 = 2000;

/// A way to handle a hit. If `reads`, the session reads the records, and the time that this takes is added.
struct Done {
    name: &'static str,
    spec: fn(&mut Session, Address) -> Spec,
    reads: bool,
}

/// Two comparisons of the register that counts the hits which are left. With 0 no hit remains, with `HITS` all do.
fn left(most: u64) -> ubp::Condition {
    let left = Operand::Register(ARGUMENT);
    left.is(Comparison::BelowOrEqual, most).and(left.is(Comparison::NotEqual, u64::MAX))
}

const DONE: &[Done] = &[
    Done { name: "counted", spec: |_, site| Spec::count(site), reads: false },
    Done { name: "decided, false", spec: |_, site| Spec::count(site).when(left(0)), reads: false },
    Done { name: "decided, true, and counted", spec: |_, site| Spec::count(site).when(left(HITS)), reads: false },
    Done {
        name: "summed up by thread, histogram",
        spec: |session, site| {
            let declared = Aggregation::new([AggregationKey::Thread]).value(Operand::Register(ARGUMENT));
            let id = session.aggregate(&declared.histogram(Buckets::Log2)).expect("there is room");
            Spec::count(site).aggregate(id)
        },
        reads: false,
    },
    Done { name: "recorded and read", spec: |_, site| Spec::record(site), reads: true },
];

/// The time of the hits with a breakpoint over the module.
fn time(victim: &mut Victim, site: u64, done: &Done) -> u64 {
    let pid = Pid(victim.id() as i32);
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    options.buffer = Buffer { when_full: WhenFull::Drop, records: 2 * HITS as u32, stack: 0 };
    let mut session = Session::open(Mechanism::Kernel, options).expect("a session");
    session.attach(pid).expect("it may be traced");
    let spec = (done.spec)(&mut session, Address(site));
    for inserted in session.insert(pid, &[spec]).expect("it lives") {
        inserted.expect("it can carry one");
    }
    let time = victim.ask(HITS);
    if !done.reads {
        return time;
    }
    let begin = Instant::now();
    assert_eq!(session.take_records().len() as u64, HITS, "there is room for each");
    time + begin.elapsed().as_nanos() as u64
}

/// Measures, each so often, and prints the best.
pub(crate) fn table(title: &str, times: usize) {
    let (_, work, site) = LOOPS[0];
    let site = site() as u64;
    let mut victim = Victim::start(work);
    let best = |victim: &mut Victim, time: &dyn Fn(&mut Victim) -> u64| {
        (0..=times).map(|_| time(victim)).skip(1).min().unwrap_or(0)
    };
    let plain = best(&mut victim, &|victim| victim.ask(HITS));
    let each = |time: u64| (time as f64 - plain as f64) / HITS as f64;
    let uprobe = uprobed(&victim, site).map(|_event| each(best(&mut victim, &|victim| victim.ask(HITS))));
    println!("{title:<40} {:>10} {:>10}", "more", "of uprobe");
    for done in DONE {
        let cost = each(best(&mut victim, &|victim| time(victim, site, done)));
        let ratio = uprobe.map_or("-".to_owned(), |uprobe| format!("{:.2}", cost / uprobe));
        println!("{:<40} {cost:>10.0} {ratio:>10}", done.name);
    }
    println!(
        "{:<40} {:>10} {:>10}",
        "a uprobe, counted",
        uprobe.map_or("-".to_owned(), |cost| format!("{cost:.0}")),
        "1.00"
    );
}
