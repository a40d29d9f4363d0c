//! The channel's rules and aggregates: which hits are acted on, and what is summed up of them in the kernel.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossing::line::Line;
use crossing::victim::Victim;
use crossing::words;
use wire::blob::from_words;
use wire::commands::{Command, Reply, option};
use wire::events::Event;
use wire::rule::{Clause, MOST_AGGREGATES, MOST_BYTES, MOST_CLAUSES, MOST_RULES, Value, buckets};
use wire::site::{Base, Condition, Memory, Relation, Site, Subject, action};
use wire::{Failure, Status};

/// Where the first argument and the stack pointer stand among the general registers.
#[cfg(target_arch = "x86_64")]
const GENERAL: [u16; 2] = [14, 19];
#[cfg(target_arch = "aarch64")]
const GENERAL: [u16; 2] = [0, 31];

/// A number, and what the call before has left.
static SHOWN: [AtomicU64; 2] = [AtomicU64::new(MARK), AtomicU64::new(0)];
const MARK: u64 = 0x7d13_59a1;

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    SHOWN[1].store(number.wrapping_neg(), Relaxed);
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

/// Calls `leaf` with 1, 2, 3 and so on, with the sign of `-1` for each third.
fn calls(number: u64) -> u64 {
    (1..=number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(argument(step)))))
}

fn argument(step: u64) -> u64 {
    if step % 3 == 0 { step.wrapping_neg() } else { step }
}

fn threads(number: u64) -> u64 {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(move || calls(number))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).fold(0, u64::wrapping_add)
    })
}

fn address() -> u64 {
    leaf as *const () as u64
}

/// A rule that takes all hits, without limits.
const ALL: Declared = Declared { thread: 0, clauses: &[], limits: [0; 5], aggregate: 0 };

#[derive(Clone, Copy)]
struct Declared<'a> {
    thread: u64,
    clauses: &'a [Clause],
    /// skip, every, most, rate, period
    limits: [u64; 5],
    aggregate: u64,
}

fn rule(line: &mut Line, declared: Declared<'_>) -> Result<u64, Failure> {
    let Declared { thread, clauses, limits, aggregate } = declared;
    let words: Vec<u64> = clauses.iter().flat_map(Clause::words).collect();
    let (clauses, limits) = (&from_words(&words), &from_words(&limits));
    line.ask(Command::Rule { thread, clauses, limits, aggregate }, |told| match told? {
        Reply::Rule { rule } => Ok(rule),
        other => panic!("{other:?}"),
    })
}

/// An aggregate with a histogram: kind, start, width, count.
fn aggregate(
    line: &mut Line,
    key: &[Value],
    value: Option<Value>,
    histogram: [u64; 4],
    rows: u64,
) -> Result<u64, Failure> {
    let words = |values: &[Value]| from_words(&values.iter().flat_map(|value| value.words()).collect::<Vec<u64>>());
    let (key, value, histogram) = (&words(key), &words(value.as_slice()), &from_words(&histogram));
    line.ask(Command::Aggregate { key, value, histogram, rows }, |told| match told? {
        Reply::Aggregate { aggregate } => Ok(aggregate),
        other => panic!("{other:?}"),
    })
}

fn sums(line: &mut Line, aggregate: u64, take: u64) -> (Vec<u64>, Vec<u64>) {
    line.ask(Command::Sums { aggregate, take }, |told| match told {
        Ok(Reply::Sums { rows, other }) => (words(rows), words(other)),
        other => panic!("{other:?}"),
    })
}

fn site(rule: u64, actions: u16) -> Site {
    let condition = Condition { subject: Subject::Rule { taken: 0 }, relation: Relation::Equal, value: rule };
    Site { address: address(), actions, memory: Memory::NONE, condition: Some(condition) }
}

fn insert(line: &mut Line, debuggee: u64, site: Site) -> Result<u64, Failure> {
    line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| match told? {
        Reply::Insert { inserted, failures: [] } => Ok(inserted),
        other => panic!("{other:?}"),
    })
}

/// Hits, and those that the rule took.
fn counted(line: &mut Line, debuggee: u64) -> [u64; 2] {
    let addresses = &address().to_ne_bytes();
    let first = |bytes: &[u8]| words(bytes)[0];
    let hits = line.ask(Command::Counts { debuggee, addresses }, |told| match told {
        Ok(Reply::Counts { counts }) => first(counts),
        other => panic!("{other:?}"),
    });
    let taken = line.ask(Command::Taken { debuggee, addresses }, |told| match told {
        Ok(Reply::Taken { taken }) => first(taken),
        other => panic!("{other:?}"),
    });
    [hits, taken]
}

fn start(work: fn(u64) -> u64) -> (Victim, Line, u64) {
    let victim = Victim::start(work);
    let mut line = Line::open();
    let debuggee = line.attach(victim.id(), option::KEEP).unwrap();
    (victim, line, debuggee)
}

/// The numbers of the next hits that are told.
fn told(line: &mut Line, count: usize) -> Vec<u64> {
    let number = |line: &mut Line| {
        line.event(|event| match event {
            Event::Hit { count, .. } => count,
            other => panic!("{other:?}"),
        })
    };
    (0..count).map(|_| number(line)).collect()
}

fn register(size: u8) -> Value {
    Value::Register { number: GENERAL[0], size }
}

fn is(value: Value, relation: Relation, right: u64) -> Clause {
    Clause { begins: false, value, relation, right }
}

crossing::channel_tests! {
    a_filter_takes_the_hits_for_which_an_alternative_holds {
        use Relation::{AllOf, AnyOf, Below, Equal, Less, NotBelow, NotEqual, NotLess};
        let minus = |number: i64| number.wrapping_neg() as u64;
        let or = |clause: Clause| Clause { begins: true, ..clause };
        // It has the negative of the call before.
        let before = |size| Value::Memory { base: Base::Zero, offset: SHOWN[1].as_ptr() as u64, size };
        let own = |size| Value::Memory { base: Base::Register(GENERAL[0]), offset: (SHOWN[0].as_ptr() as u64).wrapping_sub(4), size };
        let stack = Value::Memory { base: Base::Stack, offset: 1 << 46, size: 8 };
        let code = Value::Memory { base: Base::Zero, offset: address(), size: 1 };
        // SAFETY: the code of a function can be read.
        let first = unsafe { *(leaf as *const () as *const u8) };
        let thread = |id: u32| is(Value::Thread, Equal, id.into());
        type Model<'a> = &'a dyn Fn(u64) -> bool;
        let table: &[(&[Clause], Model<'_>)] = &[
            (&[], &|_| true),
            (&[is(register(8), Equal, 7)], &|step| step == 7),
            (&[is(register(8), Below, 5), is(register(4), NotEqual, 2)], &|step| step % 3 != 0 && step < 5 && step != 2),
            (&[is(register(8), Less, 0)], &|step| step % 3 == 0),
            (&[is(register(1), Less, minus(9))], &|step| step % 3 == 0 && step > 9),
            (&[is(register(2), NotLess, minus(9)), is(register(2), Less, 0)], &|step| step % 3 == 0 && step <= 9),
            (&[is(register(1), NotBelow, 0xf7)], &|step| step % 3 == 0 && step <= 9),
            (&[is(register(8), AllOf, 12), is(register(8), NotLess, 0)], &|step| step % 3 != 0 && step & 12 == 12),
            (&[is(register(1), AnyOf, 0x80)], &|step| step % 3 == 0),
            (&[is(Value::Hits, NotBelow, 19), or(is(register(8), Equal, 1))], &|step| step >= 19 || step == 1),
            (
                &[is(register(8), Equal, 1), is(register(8), Equal, 2), or(is(register(8), Equal, 4)), or(is(Value::Hits, Equal, 5))],
                &|step| step == 4 || step == 5,
            ),
            (&[is(before(8), Equal, minus(4))], &|step| step == 5),
            (&[is(before(1), Equal, 3)], &|step| step == 4),
            (&[is(own(4), Equal, MARK)], &|step| step == 4),
            // It lies where nothing is.
            (&[is(stack, NotEqual, 0), or(is(register(8), Equal, 8))], &|step| step == 8),
            (&[is(code, Equal, first.into()), is(register(8), Below, 3)], &|step| step < 3),
            (&[is(Value::Address, Equal, address()), is(register(8), Equal, 2)], &|step| step == 2),
            (&[is(Value::Debuggee, NotEqual, 1)], &|_| false),
        ];
        for (number, (clauses, model)) in table.iter().enumerate() {
            let (mut victim, mut line, debuggee) = start(calls);
            let rule = rule(&mut line, Declared { clauses, ..ALL }).unwrap();
            assert_eq!(insert(&mut line, debuggee, site(rule, action::RECORD)), Ok(1));
            assert_eq!(victim.ask(20), calls(20), "row {number}");
            let expected: Vec<u64> = (1..=20).filter(|step| model(*step)).collect();
            assert_eq!(counted(&mut line, debuggee), [20, expected.len() as u64], "row {number}");
            assert_eq!(told(&mut line, expected.len()), expected, "row {number}");
        }
        for (of, taken) in [(0, 3), (1, 0)] {
            let (mut victim, mut line, debuggee) = start(calls);
            let clauses = &[thread(victim.id() + 1), or(thread(victim.id()))];
            let declared = Declared { thread: u64::from(victim.id()) + of, clauses, ..ALL };
            let rule = rule(&mut line, declared).unwrap();
            assert_eq!(insert(&mut line, debuggee, site(rule, 0)), Ok(1));
            victim.ask(3);
            assert_eq!(counted(&mut line, debuggee), [3, taken]);
        }
    }

    limits_admit_what_they_say_and_all_that_is_taken_is_counted {
        let hour = 3_600_000_000_000;
        let odd: &[Clause] = &[is(register(1), Relation::AnyOf, 1)];
        // Of a step and of its negative the lowest bit is the same.
        for (clauses, limits, taken, expected) in [
            (&[][..], [0, 1, 0, 0, 0], 20, (1..=20).collect::<Vec<u64>>()),
            (&[], [18, 0, 0, 0, 0], 20, vec![19, 20]),
            (&[], [1, 7, 0, 0, 0], 20, vec![2, 9, 16]),
            (&[], [0, 0, 3, 0, 0], 20, vec![1, 2, 3]),
            (odd, [1, 2, 3, 0, 0], 10, vec![3, 7, 11]),
            (&[], [0, 0, 0, 2, hour], 20, vec![1, 2]),
            (&[], [0, 0, 0, 20, 0], 20, (1..=20).collect()),
        ] {
            let (mut victim, mut line, debuggee) = start(calls);
            let rule = rule(&mut line, Declared { clauses, limits, ..ALL }).unwrap();
            assert_eq!(insert(&mut line, debuggee, site(rule, action::RECORD)), Ok(1));
            assert_eq!(victim.ask(20), calls(20));
            assert_eq!(counted(&mut line, debuggee), [20, taken], "{limits:?}");
            assert_eq!(told(&mut line, expected.len()), expected, "{limits:?}");
        }
        let mut victims = [Victim::start(calls), Victim::start(calls)];
        let mut line = Line::open();
        let debuggees = victims.each_ref().map(|victim| line.attach(victim.id(), 0).unwrap());
        // The limits of a rule are those of all processes together.
        let rule = rule(&mut line, Declared { limits: [0, 0, 5, 0, 0], ..ALL }).unwrap();
        for (victim, debuggee) in victims.iter_mut().zip(debuggees) {
            assert_eq!(insert(&mut line, debuggee, site(rule, action::RECORD)), Ok(1));
            victim.ask(3);
        }
        assert_eq!(told(&mut line, 5), [1, 2, 3, 1, 2]);
        assert_eq!(debuggees.map(|debuggee| counted(&mut line, debuggee)), [[3, 3]; 2]);
    }

    a_rule_holds_the_threads_that_it_takes {
        let (mut victim, mut line, debuggee) = start(threads);
        let rule = rule(&mut line, Declared { clauses: &[is(register(8), Relation::Equal, 2)], ..ALL }).unwrap();
        assert_eq!(insert(&mut line, debuggee, site(rule, action::HOLD)), Ok(1));
        victim.order(5);
        for _ in 0..4 {
            let (thread, reason, at) = line.held();
            assert_eq!((reason, at), (1, address()));
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        }
        assert_eq!(victim.answer(), threads(5));
        assert_eq!(counted(&mut line, debuggee), [20, 4]);
    }

    hits_are_summed_up_by_key_as_a_model_says {
        let (mut victim, mut line, debuggee) = start(threads);
        let parity = Value::Register { number: GENERAL[0], size: 1 };
        let key = [Value::Debuggee, parity, Value::Address];
        let linear = [buckets::LINEAR, 10, 5, 3];
        let made = [
            aggregate(&mut line, &key, Some(register(8)), [buckets::LOG2, 0, 0, 0], 64).unwrap(),
            aggregate(&mut line, &[], Some(register(4)), linear, 1).unwrap(),
            aggregate(&mut line, &[parity], None, [0; 4], 8).unwrap(),
        ];
        for (round, aggregate) in made.into_iter().enumerate() {
            let rule = rule(&mut line, Declared { aggregate, ..ALL }).unwrap();
            if round > 0 {
                let addresses = &address().to_ne_bytes();
                line.ask(Command::Remove { debuggee, addresses }, |told| assert_eq!(told, Ok(Reply::Remove { removed: 1 })));
            }
            assert_eq!(insert(&mut line, debuggee, site(rule, 0)), Ok(1));
            assert_eq!(victim.ask(20), threads(20));
        }
        let fixed = |values: &[u64]| {
            let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
            let (least, largest) = (values.iter().min().unwrap(), values.iter().max().unwrap());
            vec![values.len() as u64, sum as u64, (sum >> 64) as u64, *least, *largest]
        };
        let all: Vec<u64> = (0..4).flat_map(|_| (1..=20).map(argument)).collect();
        let mut model = BTreeMap::<u64, Vec<u64>>::new();
        all.iter().for_each(|value| model.entry(value & 0xff).or_default().push(*value));

        let (rows, other) = sums(&mut line, made[0], 0);
        let mut rows: Vec<&[u64]> = rows.chunks(3 + 5 + 65).collect();
        rows.sort();
        assert_eq!((rows.len(), other), (model.len(), vec![]));
        for (row, (key, values)) in rows.iter().zip(&model) {
            let mut histogram = vec![0; 65];
            values.iter().for_each(|value| histogram[64 - value.leading_zeros() as usize] += 1);
            assert_eq!(row[..], [&[debuggee, *key, address()][..], &fixed(values), &histogram].concat());
        }

        let (rows, other) = sums(&mut line, made[1], 1);
        let low: Vec<u64> = all.iter().map(|value| value & 0xffff_ffff).collect();
        let mut histogram = vec![0; 5];
        low.iter().for_each(|value| histogram[value.checked_sub(10).map_or(0, |above| 1 + (above / 5).min(3)) as usize] += 1);
        assert_eq!((rows, other), ([fixed(&low), histogram].concat(), vec![]));
        assert_eq!(sums(&mut line, made[1], 0), (vec![], vec![]));

        // There are more keys than rows.
        let (rows, other) = sums(&mut line, made[2], 0);
        assert_eq!(rows.len(), 8 * (1 + 5));
        let counted: u64 = rows.chunks(6).map(|row| row[1]).sum();
        assert_eq!((counted + other[0], other[1..].to_vec()), (80, vec![other[0], 0, 1, 1]));
    }

    each_hit_is_in_one_reading_while_threads_add {
        const CALLS: u64 = 20_000;
        let (mut victim, mut line, debuggee) = start(threads);
        let aggregate = aggregate(&mut line, &[Value::Thread], None, [0; 4], 16).unwrap();
        let rule = rule(&mut line, Declared { aggregate, ..ALL }).unwrap();
        assert_eq!(insert(&mut line, debuggee, site(rule, 0)), Ok(1));
        victim.order(CALLS);
        let mut by_thread = BTreeMap::<u64, u64>::new();
        loop {
            let is_done = victim.is_done();
            let (rows, other) = sums(&mut line, aggregate, 1);
            assert_eq!(other, []);
            rows.chunks(6).for_each(|row| *by_thread.entry(row[0]).or_default() += row[1]);
            if is_done {
                break;
            }
        }
        assert_eq!(victim.answer(), threads(CALLS));
        assert_eq!(by_thread.into_values().collect::<Vec<_>>(), [CALLS; 4]);
        assert_eq!(counted(&mut line, debuggee), [4 * CALLS; 2]);
    }

    what_rules_took_is_known_when_the_process_has_ended_and_goes_on_behind_a_write {
        let (mut victim, mut line, debuggee) = start(calls);
        let below = rule(&mut line, Declared { clauses: &[is(register(8), Relation::Below, 5)], ..ALL }).unwrap();
        assert_eq!(insert(&mut line, debuggee, site(below, 0)), Ok(1));
        victim.ask(10);
        // 1, 2 and 4.
        assert_eq!(counted(&mut line, debuggee), [10, 3]);
        // SAFETY: the code of a function can be read.
        let code = unsafe { std::slice::from_raw_parts(leaf as *const () as *const u8, 4) };
        assert_eq!(line.done(Command::WriteMemory { debuggee, address: address(), bytes: code }), Ok(()));
        victim.ask(10);
        assert_eq!(counted(&mut line, debuggee), [20, 6]);
        assert_eq!(victim.end(), 0);
        while line.event(|event| !matches!(event, Event::Ended { .. })) {}
        assert_eq!(counted(&mut line, debuggee), [20, 6]);
    }

    a_rule_that_has_ended_takes_nothing_and_a_breakpoint_cannot_name_it {
        let (mut victim, mut line, debuggee) = start(calls);
        let sum = aggregate(&mut line, &[], None, [0; 4], 1).unwrap();
        let number = rule(&mut line, Declared { aggregate: sum, ..ALL }).unwrap();
        assert_eq!(insert(&mut line, debuggee, site(number, action::RECORD)), Ok(1));
        victim.ask(2);
        assert_eq!(line.done(Command::Unaggregate { aggregate: sum }), Ok(()));
        victim.ask(1);
        assert_eq!(line.done(Command::Unrule { rule: number }), Ok(()));
        victim.ask(1);
        assert_eq!(counted(&mut line, debuggee), [4, 3]);
        assert_eq!(told(&mut line, 3), [1, 2, 3]);
        let gone = Err(Failure::new(Status::Value, 0));
        assert_eq!(line.done(Command::Unrule { rule: number }), gone);
        assert_eq!(line.done(Command::Unaggregate { aggregate: sum }), gone);
        assert_eq!(line.done(Command::Sums { aggregate: sum, take: 0 }), gone);
        assert_eq!(insert(&mut line, debuggee, site(number, 0)), Err(Failure::new(Status::Value, 1)));
        assert_eq!(rule(&mut line, Declared { aggregate: sum, ..ALL }), Err(Failure::new(Status::Value, 3)));
    }

    what_is_no_rule_and_no_aggregate_is_refused_with_its_field {
        let mut line = Line::open();
        let wrong = |field| Err(Failure::new(Status::Value, field));
        let words = |line: &mut Line, words: &[u64]| {
            let clauses = &from_words(words);
            line.ask(Command::Rule { thread: 0, clauses, limits: &[], aggregate: 0 }, |told| told.map(drop))
        };
        let good = is(register(8), Relation::Equal, 1).words();
        assert_eq!(words(&mut line, &good), Ok(()));
        assert_eq!(words(&mut line, &good[1..]), wrong(1));
        for (at, value) in [(0, 0), (0, 7), (0, 1 | 3 << 32), (1, 1), (2, 8), (2, 1 << 17)] {
            let mut bad = good;
            bad[at] = value;
            assert_eq!(words(&mut line, &bad), wrong(1), "{at} {value:#x}");
        }
        assert_eq!(words(&mut line, &good.repeat(MOST_CLAUSES)), Ok(()));
        assert_eq!(words(&mut line, &good.repeat(MOST_CLAUSES + 1)), Err(Failure::new(Status::Limit, MOST_CLAUSES as u64)));

        let mut of = |histogram, rows| aggregate(&mut line, &[Value::Hits], None, histogram, rows).map(drop);
        assert_eq!(of([3, 0, 0, 0], 1), wrong(2));
        assert_eq!(of([buckets::LOG2, 0, 0, 1], 1), wrong(2));
        for linear in [[buckets::LINEAR, 0, 0, 3], [buckets::LINEAR, 0, 1, 4097], [buckets::LINEAR, u64::MAX, 1, 1]] {
            assert_eq!(of(linear, 1), wrong(2), "{linear:?}");
        }
        assert_eq!(of([0; 4], 0), wrong(3));
        let short = Command::Rule { thread: 0, clauses: &[], limits: &[0; 32], aggregate: 0 };
        assert_eq!(line.done(short), wrong(2));
        let short = Command::Aggregate { key: &[], value: &[], histogram: &[0; 24], rows: 1 };
        assert_eq!(line.done(short), wrong(2));
        let mut of = |histogram, rows| aggregate(&mut line, &[Value::Hits], None, histogram, rows).map(drop);
        let most = (MOST_BYTES / 8 / (1 + 5)) as u64;
        assert_eq!(of([0; 4], most + 1), Err(Failure::new(Status::Limit, MOST_BYTES as u64)));
        assert_eq!(of([0; 4], most), Ok(()));
        assert_eq!(aggregate(&mut line, &[Value::Hits; 5], None, [0; 4], 1), Err(Failure::new(Status::Limit, 4)));
    }

    a_session_has_no_more_rules_and_aggregates_than_are_written_down {
        let mut line = Line::open();
        let mut made = Vec::new();
        let error = loop {
            match rule(&mut line, ALL) {
                Ok(number) => made.push(number),
                Err(error) => break error,
            }
        };
        assert_eq!((made.len(), error), (MOST_RULES, Failure::new(Status::Limit, MOST_RULES as u64)));
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(line.done(Command::Unrule { rule: made[500] }), Ok(()));
        assert!(rule(&mut line, ALL).is_ok_and(|number| number > made[MOST_RULES - 1]));
        let all = (0..).map(|_| aggregate(&mut line, &[], None, [0; 4], 1)).take_while(Result::is_ok).count();
        assert_eq!(all, MOST_AGGREGATES);
    }
}
