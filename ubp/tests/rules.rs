//! Rules over a session: which rule acts, what is never generated, and replacement of a set as one.

mod common;

use std::path::Path;

use common::*;
use ubp::rules::{
    Action, Field, Filter, Glob, Group, Key, Kind, Limits, Members, On, Payload, Place, Reaction, Reading, Refused,
    Rule, RuleSet, Rules, Summary, Value,
};
use ubp::{
    Access, Address, Command, Comparison, Error, Event, EventKind, InsertReason, Options, Pid, Session, Signal,
    Syscalls,
};

const ARGUMENT: Value = Value::Argument(0);

fn compare(comparison: Comparison, right: u64) -> Filter {
    Filter::Compare { left: ARGUMENT, comparison, right }
}

fn is(right: u64) -> Filter {
    compare(Comparison::Equal, right)
}

fn at(address: Address) -> On {
    On::Breakpoint(Place::Address(address))
}

/// Records the first argument.
fn record() -> Action {
    Action::Record(Payload { arguments: 1, ..Payload::default() })
}

fn set(rules: Vec<Rule>) -> RuleSet {
    let groups = vec![
        Group { name: "all".into(), members: Members::All },
        Group { name: "other".into(), members: Members::Nobody },
    ];
    RuleSet { groups, rules, aggregates: Vec::new() }
}

/// A program that calls `work` with 0, 1, … as often as told, at its first instruction, and rules that know the address of `work`.
fn at_work(calls: &str, rules: impl FnOnce(Address) -> RuleSet) -> (Session, Pid, Address, Rules) {
    let (mut session, pid, work) = at_work_by_ptrace(&[calls]);
    let mut rules = Rules::new(rules(work)).unwrap();
    assert!(rules.adopt(&mut session, pid).unwrap().is_empty());
    session.resume(pid.leader()).unwrap();
    (session, pid, work, rules)
}

/// What the rules did on all events, with the events.
fn all(session: &mut Session, rules: &mut Rules) -> Vec<(Event, Reaction)> {
    let mut done = Vec::new();
    while let Some(event) = session.wait().unwrap() {
        let reaction = rules.react(session, &event).unwrap();
        if let EventKind::Forked { child } = event.kind {
            session.resume(child.leader()).unwrap();
        }
        if event.is_held() && !reaction.hold && !reaction.detached {
            session.resume(event.tid).unwrap();
        }
        done.push((event, reaction));
    }
    done
}

/// The rule and the first argument of each occurrence.
fn recorded(done: &[(Event, Reaction)]) -> Vec<(String, u64)> {
    let occurrences = done.iter().flat_map(|(_, reaction)| &reaction.occurrences);
    occurrences.map(|one| (one.rule.to_string(), one.captured.arguments.first().copied().unwrap_or(u64::MAX))).collect()
}

fn arguments(done: &[(Event, Reaction)]) -> Vec<u64> {
    recorded(done).into_iter().map(|(_, argument)| argument).collect()
}

fn hits(done: &[(Event, Reaction)]) -> usize {
    done.iter().filter(|(event, _)| matches!(event.kind, EventKind::Hit(_))).count()
}

#[test]
fn what_a_condition_filters_is_never_generated() {
    let above = compare(Comparison::AboveOrEqual, 20);
    let (mut session, _, _, mut rules) =
        at_work("30", |work| set(vec![Rule::new("above", "all", at(work)).when(above).act(record())]));
    let done = all(&mut session, &mut rules);
    assert_eq!(arguments(&done), (20..30).collect::<Vec<_>>());
    assert_eq!(hits(&done), 10, "events beside those that the rule takes");
    let occurrences: Vec<_> = done.iter().flat_map(|(_, reaction)| &reaction.occurrences).collect();
    assert!(occurrences.iter().zip(1..).all(|(one, number)| one.sequence == number && one.thread.started.is_some()));
}

#[test]
fn what_is_no_condition_is_filtered_where_the_event_is_handled() {
    let late = Filter::Compare { left: Value::Field(Field::Hits), comparison: Comparison::Above, right: 3 };
    let filter = Filter::All(vec![compare(Comparison::AboveOrEqual, 20), late]);
    let (mut session, _, _, mut rules) =
        at_work("30", |work| set(vec![Rule::new("late", "all", at(work)).when(filter).act(record())]));
    let done = all(&mut session, &mut rules);
    assert_eq!((arguments(&done), hits(&done)), ((23..30).collect(), 10));
}

#[test]
fn the_most_constrained_rule_acts_and_passes_on_if_it_says_so() {
    let (mut session, _, _, mut rules) = at_work("6", |work| {
        set(vec![
            Rule::new("any", "all", at(work)).act(record()),
            Rule::new("two", "all", at(work)).when(is(2)).act(record()),
            Rule { pass: true, ..Rule::new("four", "all", at(work)).when(is(4)).act(record()) },
            Rule { priority: -1, ..Rule::new("last", "all", at(work)).when(is(5)).act(record()) },
        ])
    });
    let seen = recorded(&all(&mut session, &mut rules));
    let seen: Vec<(&str, u64)> = seen.iter().map(|(rule, argument)| (rule.as_str(), *argument)).collect();
    assert_eq!(seen, [("any", 0), ("any", 1), ("two", 2), ("any", 3), ("four", 4), ("any", 4), ("any", 5)]);
}

#[test]
fn limits_choose_among_what_the_filter_takes() {
    let limits = Limits { skip: 2, every: 3, most: Some(3), ..Limits::default() };
    let (mut session, _, _, mut rules) = at_work("30", |work| {
        let even = Filter::Not(Box::new(Filter::Compare { left: ARGUMENT, comparison: Comparison::HasBits, right: 1 }));
        set(vec![Rule::new("some", "all", at(work)).when(even).within(limits).act(record())])
    });
    assert_eq!(arguments(&all(&mut session, &mut rules)), [4, 10, 16]);
}

#[test]
fn aggregates_are_exact_below_their_bound_and_keep_the_total_above() {
    let summary = |name: &str, most, key| Summary {
        name: name.into(),
        key,
        value: Some(ARGUMENT),
        buckets: None,
        most,
        top: false,
    };
    let (mut session, _, _, mut rules) = at_work("40", |work| {
        let rule = Rule::new("sums", "all", at(work));
        let rule =
            ["exact", "bounded", "one"].iter().fold(rule, |rule, name| rule.act(Action::Aggregate((*name).into())));
        let by_argument = Key::Value(ARGUMENT);
        let aggregates =
            vec![summary("exact", 64, by_argument), summary("bounded", 5, by_argument), summary("one", 1, Key::One)];
        RuleSet { aggregates, ..set(vec![rule]) }
    });
    all(&mut session, &mut rules);
    let table = |reading| match reading {
        Some(Reading::Table(table)) => table,
        other => panic!("{other:?}"),
    };
    let exact = table(rules.aggregate("exact"));
    assert!(exact.rows.iter().map(|(key, values)| (*key, values.count(), values.sum())).eq((0..40).map(|n| (
        n,
        1,
        n.into()
    ))));
    let bounded = table(rules.take_aggregate("bounded"));
    let other = bounded.other.as_ref().unwrap();
    assert_eq!((bounded.rows.len(), bounded.total(), other.count()), (5, 40, 35));
    assert_eq!(table(rules.aggregate("bounded")).total(), 0);
    let one = table(rules.aggregate("one"));
    let values = &one.rows[0].1;
    assert_eq!((values.sum(), values.least(), values.largest(), values.mean()), (780, Some(0), Some(39), Some(19)));
}

#[test]
fn a_set_that_fails_changes_nothing_and_one_that_succeeds_is_whole() {
    let (mut session, pid, work, mut rules) =
        at_work("9", |work| set(vec![Rule::new("old", "all", at(work)).act(record())]));
    let mut seen = Vec::new();
    while let Some(event) = session.wait().unwrap() {
        let reaction = rules.react(&mut session, &event).unwrap();
        seen.extend(recorded(&[(event.clone(), reaction)]));
        if matches!(event.kind, EventKind::Hit(_)) && seen.len() == 3 {
            let nowhere = Rule::new("nowhere", "all", at(Address(8))).act(record());
            let bad = set(vec![Rule::new("new", "all", at(work)).act(record()), nowhere]);
            let error = rules.replace(&mut session, bad).unwrap_err();
            assert!(matches!(error, Error::Insert(ref error) if error.reason == InsertReason::NotMapped), "{error}");
            let unknown = set(vec![Rule::new("new", "no group", at(work))]);
            assert!(matches!(rules.replace(&mut session, unknown), Err(Error::Rules(_))));
        }
        if matches!(event.kind, EventKind::Hit(_)) && seen.len() == 6 {
            rules.replace(&mut session, set(vec![Rule::new("new", "all", at(work)).act(record())])).unwrap();
            let active = session.breakpoints(pid).filter(|breakpoint| breakpoint.is_active()).count();
            assert_eq!(active, 1);
        }
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    let expected: Vec<(String, u64)> = (0..9).map(|n| (if n < 6 { "old" } else { "new" }.into(), n)).collect();
    assert_eq!(seen, expected);
}

#[test]
fn system_calls_are_requested_for_the_processes_of_the_group_alone() {
    let true_path = std::fs::canonicalize("/bin/true").unwrap();
    let name = true_path.file_name().unwrap().to_str().unwrap().to_string();
    let groups = vec![Group { name: "true".into(), members: Members::Executable(Glob::new(name)) }];
    let rule = Rule::new("calls", "true", On::SyscallEntered(machine::ARCH, Syscalls::ALL)).act(record());
    let set = RuleSet { groups, rules: vec![rule], aggregates: Vec::new() };
    let mut session = Session::open(mechanism(), set.options(Options::default())).unwrap();
    let mut rules = Rules::new(set).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "/bin/true; exit 3"]);
    let pid = session.spawn(command).unwrap();
    rules.adopt(&mut session, pid).unwrap();
    session.resume(pid.leader()).unwrap();
    let done = all(&mut session, &mut rules);
    let calls: Vec<Pid> = done
        .iter()
        .filter(|(event, _)| matches!(event.kind, EventKind::SyscallEntered(_)))
        .map(|(event, _)| event.pid)
        .collect();
    let executed = done.iter().position(|(event, _)| event.kind == EventKind::Exec).unwrap();
    let child = done[executed].0.pid;
    assert!(!calls.is_empty() && child != pid && calls.iter().all(|of| *of == child), "{calls:?}");
    assert!(done[..executed].iter().all(|(event, _)| !matches!(event.kind, EventKind::SyscallEntered(_))));
    assert!(!done.iter().any(|(event, _)| matches!(event.kind, EventKind::Signal(_) | EventKind::ThreadStarted)));
    assert_eq!(done.last().unwrap().0.kind, EventKind::Exited(3));
}

#[test]
fn rules_insert_and_remove_breakpoints_of_others() {
    let (mut session, _, _, mut rules) = at_work("10", |work| {
        let passing = |name: &str, argument| Rule { pass: true, ..Rule::new(name, "all", at(work)).when(is(argument)) };
        set(vec![
            Rule { armed: false, ..Rule::new("between", "all", at(work)).act(record()) },
            passing("from", 3).act(Action::Insert("between".into())),
            passing("to", 7).act(Action::Remove("between".into())),
        ])
    });
    let done = all(&mut session, &mut rules);
    // The breakpoint is inserted while the thread is at the place, which it passes, and is removed before its rule is asked.
    assert_eq!(arguments(&done), [4, 5, 6]);
    assert_eq!(hits(&done), 5);
}

#[test]
fn a_moved_thread_has_the_rules_of_its_group_alone() {
    let (mut session, _, _, mut rules) = at_work("6", |work| {
        set(vec![
            Rule::new("first", "all", at(work)).act(record()),
            Rule::new("move", "all", at(work)).when(is(3)).act(Action::Move("other".into())),
            Rule::new("moved", "other", at(work)).act(record()),
        ])
    });
    let seen = recorded(&all(&mut session, &mut rules));
    let seen: Vec<(&str, u64)> = seen.iter().map(|(rule, argument)| (rule.as_str(), *argument)).collect();
    assert_eq!(seen, [("first", 0), ("first", 1), ("first", 2), ("moved", 4), ("moved", 5)]);
}

#[test]
fn a_held_thread_stays_until_it_is_resumed() {
    let (mut session, pid, _, mut rules) = at_work("5", |work| {
        set(vec![Rule::new("hold", "all", at(work)).when(is(2)).act(Action::Hold).act(Action::Wake)])
    });
    let reaction = rules.wait(&mut session).unwrap().unwrap();
    let mut held = reaction;
    while !held.hold {
        held = rules.wait(&mut session).unwrap().unwrap();
    }
    assert!(held.wake && session.is_held(pid.leader()) && session.poll().unwrap().is_none());
    let argument = session.registers(pid.leader()).unwrap().get(machine::ARGUMENTS[0]);
    assert_eq!(argument, Some(2));
    session.resume(pid.leader()).unwrap();
    while rules.wait(&mut session).unwrap().is_some() {}
}

#[test]
fn a_rule_sends_its_thread_a_signal() {
    let (mut session, _, _, mut rules) = at_work("1000", |work| {
        set(vec![Rule::new("end", "all", at(work)).when(is(2)).act(Action::Signal(Signal(libc::SIGTERM)))])
    });
    assert_eq!(all(&mut session, &mut rules).last().unwrap().0.kind, EventKind::Killed(Signal(libc::SIGTERM)));
}

#[test]
fn a_program_that_a_rule_detached_from_goes_on() {
    let (mut session, pid, _, mut rules) =
        at_work("9", |work| set(vec![Rule::new("leave", "all", at(work)).when(is(2)).act(Action::Detach)]));
    let mut out = session.take_stdio(pid).stdout.unwrap();
    let done = all(&mut session, &mut rules);
    assert!(done.last().unwrap().1.detached && session.process(pid).is_none());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    assert_eq!(text.into_bytes(), undisturbed(&build("loop", &[]), &["9"]).stdout);
}

#[test]
fn a_rule_watches_what_a_register_leads_to() {
    let (mut session, _, _, mut rules) = at_work("4", |work| {
        let address = Value::Register(machine::SP);
        let watch = Action::Watch { address, length: 8, access: Access::ReadWrite };
        let accessed = Rule::new("accessed", "all", On::Kind(Kind::Watched)).act(record());
        set(vec![Rule::new("watch", "all", at(work)).when(is(1)).act(watch), accessed])
    });
    let done = all(&mut session, &mut rules);
    let accesses: Vec<_> = done.iter().filter(|(event, _)| matches!(event.kind, EventKind::Watched { .. })).collect();
    assert!(accesses.iter().all(|(_, reaction)| reaction.occurrences.len() == 1));
    // Where the return address lies on the stack, each return reads it.
    assert!(machine::LINK_REGISTER || accesses.len() >= 3, "{}", accesses.len());
}

#[test]
fn a_file_gets_its_breakpoints_when_it_is_mapped() {
    let program = build("loop", &[]);
    let address = symbols(&program)["work"];
    let path = Glob::new(Path::new(&program).as_os_str().as_encoded_bytes());
    let on = On::Breakpoint(Place::File { path, address });
    let named = On::Breakpoint(Place::Named("here".into()));
    let rules = set(vec![
        Rule::new("file", "all", on).act(record()),
        Rule { priority: 1, ..Rule::new("named", "all", named) }.when(is(2)).act(record()),
    ]);
    let mut session = Session::open(mechanism(), rules.options(Options::default())).unwrap();
    let mut rules = Rules::new(rules).unwrap();
    let pid = session.spawn(piped(&program, &["4"])).unwrap();
    assert!(rules.adopt(&mut session, pid).unwrap().is_empty());
    let work = symbol(&session, pid, "work");
    assert!(rules.found(&mut session, pid, "here", &[work]).unwrap().is_empty());
    let refused = rules.found(&mut session, pid, "here", &[Address(8)]).unwrap();
    assert!(matches!(&refused[..], [Refused::Breakpoint(error)] if error.address == Address(8)));
    session.resume(pid.leader()).unwrap();
    let seen = recorded(&all(&mut session, &mut rules));
    let seen: Vec<(&str, u64)> = seen.iter().map(|(rule, argument)| (rule.as_str(), *argument)).collect();
    assert_eq!(seen, [("file", 0), ("file", 1), ("named", 2), ("file", 3)]);
}

#[test]
fn a_set_that_means_nothing_is_refused_with_the_name_of_its_part() {
    let refused = |rule: Rule| Rules::new(set(vec![rule])).unwrap_err().to_string();
    let on = On::Kind(Kind::Exited);
    assert!(refused(Rule::new("a", "nobody", on.clone())).contains("a: there is no group 'nobody'"));
    let status = Filter::Compare { left: Value::Field(Field::Result), comparison: Comparison::Equal, right: 1 };
    assert!(refused(Rule::new("b", "all", on.clone()).when(status)).contains("no number 'result'"));
    assert!(refused(Rule::new("c", "all", on.clone()).act(Action::Insert("c".into()))).contains("no rule 'c'"));
    assert!(refused(Rule::new("d", "all", on.clone()).act(Action::Aggregate("x".into()))).contains("no aggregate 'x'"));
    assert!(refused(Rule::new("e", "all", On::Kind(Kind::SignalSent))).contains("ptrace(2) tells"));
    let deep = (0..20).fold(Filter::ALWAYS, |inner, _| Filter::Not(Box::new(inner)));
    assert!(refused(Rule::new("f", "all", on).when(deep)).contains("too deep"));
}
