//! Processes that share memory, and thus breakpoints.

mod common;

use std::io::Write;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use common::*;
use ubp::{Address, EventKind, Mechanism, Options, Pid, Session, Spec};

/// A program that waits with a child in its memory, and the child's id.
struct Pair {
    parent: Child,
    stdin: ChildStdin,
    out: std::io::BufReader<ChildStdout>,
    child: Pid,
}

impl Pair {
    fn start(what: &str) -> Pair {
        let (mut parent, mut out) = start(&build("sharers", &[]), &[what]);
        assert_eq!(line(&mut out), "child\n");
        let children = format!("/proc/{0}/task/{0}/children", parent.id());
        let child = std::fs::read_to_string(children).unwrap().trim().parse().map(Pid).unwrap();
        let stdin = parent.stdin.take().unwrap();
        Pair { parent, stdin, out, child }
    }
    fn pid(&self) -> Pid {
        Pid(self.parent.id() as i32)
    }
    fn go_on(&mut self) {
        self.stdin.write_all(b"x").unwrap();
    }
    /// Lets the program continue to its end without a tracer, and checks its output.
    fn ends_alone(mut self) {
        self.go_on();
        assert_eq!(line(&mut self.out), "parent\n");
        self.go_on();
        assert_eq!(line(&mut self.out), "done\n");
        assert_eq!(self.parent.wait().unwrap().code(), Some(0));
    }
}

fn quiet() -> Session {
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    Session::with_options(options).unwrap()
}

/// Puts counting breakpoints on every instruction of `work`; returns the first one's number.
fn count_work(session: &mut Session, pid: Pid) -> ubp::BreakpointId {
    let program = build("sharers", &[]);
    let base = load_address(session, pid);
    let specs: Vec<Spec> = instructions(&program, "work").iter().map(|at| Spec::count(Address(base + at))).collect();
    session.insert(pid, &specs).unwrap().into_iter().map(Result::unwrap).collect::<Vec<_>>()[0]
}

/// Handles events until the program writes a line.
fn line_of(session: &mut Session, out: &mut std::io::BufReader<ChildStdout>) -> String {
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| line(out));
        while !reader.is_finished() {
            if let Some(event) = session.poll().unwrap() {
                assert!(!event.is_held(), "{event:?}");
            }
            std::thread::yield_now();
        }
        reader.join().unwrap()
    })
}

#[test]
fn a_child_that_shared_the_memory_before_the_attach_passes_the_breakpoints() {
    for what in ["vfork", "clone"] {
        let mut pair = Pair::start(what);
        let mut session = quiet();
        session.attach(pair.pid()).unwrap();
        assert_eq!(session.processes().count(), 1);
        let first = count_work(&mut session, pair.pid());
        pair.go_on();
        assert_eq!(line_of(&mut session, &mut pair.out), "parent\n");
        assert_eq!(session.breakpoint(pair.pid(), first).unwrap().hits(), 3, "{what}: the parent's hits are counted");
        pair.go_on();
        let end = session.wait().unwrap().map(|event| event.kind);
        assert_eq!(end, Some(EventKind::Exited(0)));
        assert_eq!(session.breakpoint(pair.pid(), first).unwrap().hits(), 6);
        assert_eq!(line(&mut pair.out), "done\n");
    }
}

#[test]
fn a_process_that_is_attached_to_in_its_parents_memory_leaves_the_parent_unharmed() {
    for what in ["vfork", "clone"] {
        let mut pair = Pair::start(what);
        let mut session = quiet();
        session.attach(pair.child).unwrap();
        let first = count_work(&mut session, pair.child);
        pair.go_on();
        while let Some(event) = session.wait().unwrap() {
            if event.kind == EventKind::Exited(0) {
                assert_eq!(session.breakpoint(pair.child, first).unwrap().hits(), 5, "{what}");
            }
        }
        assert_eq!(line(&mut pair.out), "parent\n");
        pair.go_on();
        assert_eq!(line(&mut pair.out), "done\n");
        assert_eq!(pair.parent.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn letting_go_does_not_wait_for_a_child_of_vfork_that_does_not_end() {
    let pair = Pair::start("vfork");
    let (pid, begin) = (pair.pid(), Instant::now());
    // A tracer is a thread: when it ends, the kernel detaches its tracees.
    std::thread::spawn(move || {
        let mut session = quiet();
        session.attach(pid).unwrap();
        count_work(&mut session, pid);
        session.detach(pid).unwrap();
        assert!(session.process(pid).is_none());
        session.leave();
    })
    .join()
    .unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5));
    pair.ends_alone();
}

#[test]
fn a_session_that_is_dropped_lets_a_thread_in_vfork_go_when_its_child_is_done() {
    let mut pair = Pair::start("vfork");
    let pid = pair.pid();
    let (told, dropping) = std::sync::mpsc::channel();
    let tracer = std::thread::spawn(move || {
        let mut session = quiet();
        session.attach(pid).unwrap();
        count_work(&mut session, pid);
        session.detach(pid).unwrap();
        told.send(()).unwrap();
        drop(session);
    });
    dropping.recv().unwrap();
    pair.go_on();
    tracer.join().unwrap();
    assert_eq!(line(&mut pair.out), "parent\n");
    pair.go_on();
    assert_eq!(line(&mut pair.out), "done\n");
    assert_eq!(pair.parent.wait().unwrap().code(), Some(0));
}

#[test]
fn what_was_made_out_of_sight_is_found_before_a_breakpoint_is_written() {
    let (mut parent, mut out) = start(&build("sharers", &[]), &["untraced"]);
    let pid = Pid(parent.id() as i32);
    let mut stdin = parent.stdin.take().unwrap();
    assert_eq!(line(&mut out), "ready\n");
    let mut session = quiet();
    session.attach(pid).unwrap();
    stdin.write_all(b"x").unwrap();
    assert_eq!(line_of(&mut session, &mut out), "child\n");
    count_work(&mut session, pid);
    stdin.write_all(b"x").unwrap();
    assert_eq!(line_of(&mut session, &mut out), "parent\n");
    session.detach(pid).unwrap();
    stdin.write_all(b"x").unwrap();
    assert_eq!(line(&mut out), "done\n");
    assert_eq!(parent.wait().unwrap().code(), Some(0));
}

#[test]
fn the_tracer_itself_is_refused() {
    if session().mechanism() == Mechanism::Kernel {
        return;
    }
    let own = Pid(std::process::id() as i32);
    let error = quiet().attach(own).unwrap_err();
    assert!(matches!(error, ubp::Error::Tracer(pid) if pid == own), "{error}");
}
