//! Threads that stop at any instruction with which a jump sums a hit up: the hit is in the sums once, and whole.
#![cfg(target_arch = "x86_64")]

use std::path::PathBuf;
use std::ptr::null_mut;

use insn::x86::Reg;
use ubp::core::Buckets;
use ubp::rules::{Aggregate, Values};
use ubp::{
    Address, Aggregation, AggregationId, AggregationKey, EventKind, Method, Operand, Patch, Pid, Session, Spec, Tid,
};

use crate::by_ptrace;
use crate::common::*;

const ROUNDS: u64 = 6;
/// The arrivals before the one within which the thread stops. `probe` gets zero, the least number, then the largest, and then one that makes the sum
/// carry.
const BEFORE: [usize; 3] = [0, 1, 2];

/// A thread within an arrival, which the session takes for held, some instructions before.
struct Within {
    session: Session,
    pid: Pid,
    id: AggregationId,
    /// The arrivals before.
    arrivals: usize,
}

impl Within {
    /// Executes as many instructions from the jump on, after some arrivals. `None`: the arrival is over by then.
    fn after((program, offsets): &(PathBuf, [u64; 2]), before: usize, instructions: usize) -> Option<Within> {
        let mut session = by_ptrace();
        let pid = session.spawn(piped(program, &[&ROUNDS.to_string()])).unwrap();
        let base = load_address(&session, pid);
        let [site, start] = offsets.map(|offset| Address(base + offset));
        let declared = Aggregation::new([AggregationKey::Location]).value(Operand::Register(Reg::RDX));
        let id = session.aggregate(&declared.histogram(Buckets::Log2)).unwrap();
        let specs = [Spec::count(site).aggregate(id).patch(Patch::Jump), Spec::event(start)];
        let ids: Vec<_> = session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(session.breakpoint(pid, ids[0]).unwrap().method(), Method::Jumped);
        session.resume(pid.leader()).unwrap();
        while !matches!(session.wait().unwrap().unwrap().kind, EventKind::Hit(_)) {
            session.resume(pid.leader()).unwrap();
        }
        session.remove(pid, &ids[1..]).unwrap();
        let mut arrivals = 0;
        while arrivals <= before {
            step(pid.leader());
            arrivals += usize::from(pc(pid.leader()) == site.0);
        }
        (0..instructions).for_each(|_| step(pid.leader()));
        let within = Within { session, pid, id, arrivals: before };
        within.is_outside(site).then_some(within)
    }

    /// Whether the thread is not in the function itself, but for the jump.
    fn is_outside(&self, site: Address) -> bool {
        let pc = pc(self.pid.leader());
        pc == site.0 || !(site.0..site.0 + 32).contains(&pc)
    }

    /// What the aggregation has in all.
    fn taken(&mut self, all: &mut Aggregate<Vec<u64>>) {
        let table = self.session.take_aggregated(self.id).unwrap();
        table.rows.iter().for_each(|(key, values)| all.add_all(key.clone(), values));
    }
}

fn pc(tid: Tid) -> u64 {
    // SAFETY: all bytes may be zero.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes a `user_regs_struct`.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid.0, null_mut::<u8>(), &raw mut registers) };
    assert_eq!(done, 0);
    registers.rip
}

/// Executes an instruction of a stopped thread, without the session.
fn step(tid: Tid) {
    let mut status = 0;
    // SAFETY: this thread is the tracer, and the kernel writes a number.
    let stepped = unsafe {
        libc::ptrace(libc::PTRACE_SINGLESTEP, tid.0, null_mut::<u8>(), null_mut::<u8>());
        libc::waitpid(tid.0, &raw mut status, libc::__WALL)
    };
    assert!(stepped == tid.0 && libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP, "{status:x}");
}

/// Makes the thread stop before it executes an instruction.
fn interrupt(tid: Tid) {
    // SAFETY: the request has no arguments.
    let done = unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, tid.0, null_mut::<u8>(), null_mut::<u8>()) };
    assert_eq!(done, 0);
}

/// What the first arrivals give.
fn model(arrivals: u64) -> Values {
    let mut all = Aggregate::new(1).with_histogram(Buckets::Log2);
    (0..arrivals).for_each(|number: u64| all.add((), number.wrapping_neg()));
    all.read().rows[0].1.clone()
}

fn all() -> Aggregate<Vec<u64>> {
    Aggregate::new(1).with_histogram(Buckets::Log2)
}

/// Calls `check` at each instruction of an arrival, after some.
fn at_each(before: usize, check: impl Fn(Within, usize)) {
    let program = build("x86/tested", &[]);
    let symbols = symbols(&program);
    let program = (program, ["probe", "loop"].map(|name| symbols[name]));
    let mut instructions = 0;
    while let Some(within) = Within::after(&program, before, instructions) {
        check(within, instructions);
        instructions += 1;
    }
    assert!(instructions > 20, "{instructions}");
}

#[test]
fn a_thread_that_stops_at_any_instruction_of_a_sum_adds_its_hit_once() {
    let program = build("x86/tested", &[]);
    let alone = undisturbed(&program, &[&ROUNDS.to_string()]).stdout;
    for (before, by_signal) in BEFORE.into_iter().flat_map(|before| [(before, false), (before, true)]) {
        at_each(before, |mut within, at| {
            let pid = within.pid;
            if by_signal {
                // SAFETY: the call sends a signal that the program ignores.
                assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, pid.0, pid.0, libc::SIGWINCH) }, 0);
            } else {
                interrupt(pid.leader());
            }
            within.session.resume(pid.leader()).unwrap();
            let outcome = run(&mut within.session, pid, |_, _| {});
            assert_eq!(outcome.text().as_bytes(), alone, "{at}");
            let mut all = all();
            within.taken(&mut all);
            assert_eq!(all.read().rows[0].1, model(ROUNDS), "{before}, {at}, by a signal: {by_signal}");
        });
    }
}

#[test]
fn what_is_taken_within_a_sum_is_exact_and_so_is_the_rest() {
    at_each(2, |mut within, at| {
        let (pid, arrivals) = (within.pid, within.arrivals as u64);
        interrupt(pid.leader());
        within.session.resume(pid.leader()).unwrap();
        let mut all = all();
        within.taken(&mut all);
        let first = all.read().rows[0].1.clone();
        // The thread runs where it did not stop in between.
        assert_eq!(first, model(first.count()), "{at}");
        assert!((arrivals..=ROUNDS).contains(&first.count()), "{at}: {first:?}");
        run(&mut within.session, pid, |_, _| {});
        within.taken(&mut all);
        assert_eq!(all.read().rows[0].1, model(ROUNDS), "{at}");
    });
}

#[test]
fn a_thread_that_is_killed_within_a_sum_leaves_values_that_fit_each_other() {
    at_each(2, |mut within, at| {
        let (pid, arrivals) = (within.pid, within.arrivals as u64);
        kill(pid);
        run(&mut within.session, pid, |_, _| {});
        let mut all = all();
        within.taken(&mut all);
        let values = all.read().rows[0].1.clone();
        assert!([arrivals, arrivals + 1].contains(&values.count()), "{at}: {values:?}");
        assert!(values.least() <= values.largest() && values.mean() <= values.largest(), "{at}: {values:?}");
        let bounds = values.histogram().into_iter().fold((0, 0), |(low, high), bucket| {
            let bound = |value: &u64| u128::from(bucket.count) * u128::from(*value);
            (low + bound(bucket.values.start()), high + bound(bucket.values.end()))
        });
        assert!((bounds.0..=bounds.1).contains(&values.sum()), "{at}: {values:?}");
    });
}
