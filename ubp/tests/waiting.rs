//! Waiting for reports, whatever else the tracing process does with children and signals.
//!
//! Each case runs in a process of its own, because signal dispositions and masks are the process'.

mod common;

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock, mpsc};
use std::time::Duration;

use common::*;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use ubp::{Address, EventKind, Mechanism, Options, Pid, Readiness, Session, SessionBuilder, Spec};

/// The number of calls of `work`.
const CALLS: &str = "200";
/// The arguments of threads.c: rounds, and no timer.
const ROUNDS: &[&str] = &["40", "0"];

/// What the cases need of the debuggees, found while the standard library's waits for children still work.
struct Prepared {
    threads: PathBuf,
    /// The output of an undisturbed run of threads.c.
    plain: Output,
    /// The offset of the function `leaf` in threads.c.
    leaf: u64,
    r#loop: PathBuf,
    /// The offset of the function `work` in loop.c.
    work: u64,
}

fn prepared() -> &'static Prepared {
    static PREPARED: OnceLock<Prepared> = OnceLock::new();
    PREPARED.get_or_init(|| {
        let (threads, r#loop) = (build("threads", &[]), build("loop", &[]));
        let plain = undisturbed(&threads, ROUNDS);
        let (leaf, work) = (symbols(&threads)["leaf"], symbols(&r#loop)["work"]);
        Prepared { threads, plain, leaf, r#loop, work }
    })
}

/// Runs a case in another process of this program, which must end well.
fn in_process(case: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", case, "--nocapture", "--include-ignored"])
        .env("NTRACE_WAITING_CASE", case)
        .output()
        .unwrap();
    assert!(output.status.success(), "{case}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// Whether this process is one that [`in_process`] started.
fn is_case(case: &str) -> bool {
    std::env::var_os("NTRACE_WAITING_CASE").is_some_and(|asked| asked == *case)
}

/// Makes a test of a function that runs in a process of its own.
macro_rules! case {
    ($name:ident, $body:expr) => {
        #[test]
        fn $name() {
            if is_case(stringify!($name)) {
                prepared();
                $body();
            } else {
                in_process(stringify!($name));
            }
        }
    };
}

fn by_ptrace(choose: impl FnOnce(&mut Options)) -> Session {
    let mut options = Options::default();
    options.signals = false;
    choose(&mut options);
    Session::open(Mechanism::Ptrace, options).unwrap()
}

/// Counts calls in a program with threads, and holds each thread at some of them; events come by `next`.
fn trace_threads(mut session: Session, mut next: impl FnMut(&mut Session) -> Option<ubp::Event>) {
    let Prepared { threads, plain, leaf, .. } = prepared();
    let pid = session.spawn(piped(threads, ROUNDS)).unwrap();
    let mut stdout = session.take_stdio(pid).stdout.unwrap();
    let leaf = Address(load_address(&session, pid) + leaf);
    let ids = session.insert(pid, &[Spec::count(leaf), Spec::event(leaf)]).unwrap();
    let (counted, reported) = (ids[0].unwrap(), ids[1].unwrap());
    session.resume(pid.leader()).unwrap();
    let (mut hits, mut events, mut exit) = (0, 0, None);
    while let Some(event) = next(&mut session) {
        match event.kind {
            EventKind::Hit(ref hit) if hit.is_of(reported) => events += 1,
            EventKind::Exited(status) => {
                hits = session.breakpoint(pid, counted).unwrap().hits();
                exit = Some(status);
            }
            _ => {}
        }
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
    assert_eq!(text, String::from_utf8_lossy(&plain.stdout));
    assert_eq!(exit, plain.status.code());
    assert!(hits > 0 && hits == events, "{hits} {events}");
}

/// Counts the calls of a program with one thread.
fn trace_one(mut session: Session, mut next: impl FnMut(&mut Session) -> Option<ubp::Event>) {
    let (pid, work) = spawn_loop(&mut session);
    let id = session.insert(pid, &[Spec::count(work)]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    while let Some(event) = next(&mut session) {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    assert_eq!(hits.to_string(), CALLS);
}

fn wait(session: &mut Session) -> Option<ubp::Event> {
    session.wait().unwrap()
}

/// The next event by the descriptor and `poll`.
fn by_descriptor(session: &mut Session) -> Option<ubp::Event> {
    loop {
        if let Some(event) = session.poll().unwrap() {
            return Some(event);
        }
        session.processes().next()?;
        let mut wanted = libc::pollfd { fd: session.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live structure.
        unsafe { libc::poll(&mut wanted, 1, -1) };
    }
}

/// Everything in every way of waiting.
fn trace_in_every_way() {
    trace_threads(by_ptrace(|_| ()), wait);
    trace_threads(by_ptrace(|options| options.busy_wait = Duration::ZERO), wait);
    trace_threads(by_ptrace(|_| ()), by_descriptor);
    trace_threads(by_ptrace(|options| options.exit_kill = false), wait);
    trace_one(by_ptrace(|_| ()), wait);
    trace_one(by_ptrace(|_| ()), by_descriptor);
}

/// A child of the author's that has ended and that nobody has waited for.
fn unreaped_child() -> std::process::Child {
    let child = Command::new("/bin/true").spawn().unwrap();
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is a live structure.
    unsafe { libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOWAIT) };
    child
}

fn set_action(action: usize, flags: i32) {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut wanted: libc::sigaction = unsafe { std::mem::zeroed() };
    (wanted.sa_sigaction, wanted.sa_flags) = (action, flags);
    // SAFETY: a live structure, whose handler is a default one or async-signal-safe.
    assert_eq!(unsafe { libc::sigaction(libc::SIGCHLD, &wanted, std::ptr::null_mut()) }, 0);
}

fn action() -> usize {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut found: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a live structure.
    unsafe { libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut found) };
    found.sa_sigaction
}

fn block_child_signal() {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut mask: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a live set.
    unsafe {
        libc::sigemptyset(&mut mask);
        libc::sigaddset(&mut mask, libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_BLOCK, &mask, std::ptr::null_mut());
    }
}

case!(a_session_changes_no_action_of_sigchld, || {
    trace_in_every_way();
    assert_eq!(action(), libc::SIG_DFL);
});

case!(waiting_works_with_an_unreaped_child_of_the_author, || {
    let mut child = unreaped_child();
    trace_in_every_way();
    assert!(child.wait().unwrap().success(), "the report is still the author's");
});

case!(waiting_works_with_sigchld_blocked, || {
    block_child_signal();
    trace_in_every_way();
});

case!(waiting_works_with_sigchld_blocked_and_an_unreaped_child, || {
    let mut child = unreaped_child();
    block_child_signal();
    trace_in_every_way();
    assert!(child.wait().unwrap().success());
});

case!(waiting_works_with_sigchld_ignored, || {
    set_action(libc::SIG_IGN, 0);
    trace_in_every_way();
});

case!(waiting_works_without_zombies_and_without_signals_of_stops, || {
    set_action(libc::SIG_DFL, libc::SA_NOCLDWAIT | libc::SA_NOCLDSTOP);
    trace_in_every_way();
});

static HANDLED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_child(_: libc::c_int) {
    HANDLED.store(true, Ordering::Release);
}

case!(waiting_works_with_a_handler_that_interrupts_system_calls, || {
    set_action(on_child as *const () as usize, 0);
    trace_in_every_way();
    assert!(HANDLED.load(Ordering::Acquire), "the handler was the author's");
});

case!(two_threads_of_a_process_have_a_session_each, || {
    let together = Barrier::new(2);
    std::thread::scope(|scope| {
        for way in [wait, by_descriptor] {
            let together = &together;
            scope.spawn(move || {
                let session = by_ptrace(|_| ());
                together.wait();
                trace_threads(session, way);
                together.wait();
                trace_one(by_ptrace(|_| ()), way);
            });
        }
    });
});

case!(a_session_whose_reports_nobody_takes_hides_none_of_another, || {
    // The held thread's end stays with the kernel until its session looks.
    let (mut idle, pid, work) = at_work_in_ptrace();
    let id = idle.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
    idle.resume(pid.leader()).unwrap();
    std::thread::spawn(|| trace_threads(by_ptrace(|_| ()), by_descriptor)).join().unwrap();
    std::thread::spawn(|| trace_threads(by_ptrace(|_| ()), wait)).join().unwrap();
    let hit = loop {
        let event = idle.wait().unwrap().unwrap();
        if matches!(&event.kind, EventKind::Hit(hit) if hit.is_of(id)) {
            break event;
        }
        idle.resume(event.tid).unwrap();
    };
    assert_eq!(hit.pid, pid);
});

fn at_work_in_ptrace() -> (Session, Pid, Address) {
    let mut session = by_ptrace(|_| ());
    let (pid, work) = spawn_loop(&mut session);
    (session, pid, work)
}

fn spawn_loop(session: &mut Session) -> (Pid, Address) {
    let Prepared { r#loop, work, .. } = prepared();
    let pid = session.spawn(piped(r#loop, &[CALLS])).unwrap();
    (pid, Address(load_address(session, pid) + work))
}

case!(stops_that_another_thread_takes_are_found_again, || {
    static DONE: AtomicBool = AtomicBool::new(false);
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let thief = std::thread::spawn(|| {
        while !DONE.load(Ordering::Acquire) {
            let mut status = 0;
            // Ends stay: their status is gone for ever once somebody has taken it.
            // SAFETY: all-zero bytes are a valid value of this plain C structure.
            let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
            let flags = libc::WCONTINUED | libc::WNOHANG | libc::__WALL;
            // SAFETY: `info` is a live structure.
            if unsafe { libc::waitid(libc::P_ALL, 0, &mut info, flags) } == 0 {
                // SAFETY: the structure is that of SIGCHLD, or zero.
                status = unsafe { info.si_pid() };
            }
            if status != 0 {
                TAKEN.store(true, Ordering::Release);
            }
            std::thread::yield_now();
        }
    });
    let shared = |options: &mut Options| options.others_wait = true;
    // A program is started before anybody can take its reports for good.
    trace_one(by_ptrace(shared), wait);
    trace_one(by_ptrace(shared), by_descriptor);
    trace_threads(by_ptrace(shared), wait);
    DONE.store(true, Ordering::Release);
    thief.join().unwrap();
    assert!(TAKEN.load(Ordering::Acquire), "nobody took a stop");
});

case!(a_session_ends_whose_ends_another_thread_takes, || {
    static DONE: AtomicBool = AtomicBool::new(false);
    let mut session = by_ptrace(|options| options.others_wait = true);
    let (pid, _) = spawn_loop(&mut session);
    session.resume(pid.leader()).unwrap();
    let thief = std::thread::spawn(|| {
        while !DONE.load(Ordering::Acquire) {
            // SAFETY: a null pointer asks for no status.
            unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
            std::thread::yield_now();
        }
    });
    while let Some(event) = session.wait().unwrap() {
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    DONE.store(true, Ordering::Release);
    thief.join().unwrap();
});

case!(a_child_that_no_wait_excludes_hides_no_report, || {
    // The end of such a child sends no signal.
    // SAFETY: without CLONE_VM this is a fork; the child makes one async-signal-safe call.
    let child = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } as i32;
    if child == 0 {
        // SAFETY: ends the copy.
        unsafe { libc::_exit(9) };
    }
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOWAIT | libc::__WCLONE;
    // SAFETY: `info` is a live structure.
    assert_eq!(unsafe { libc::waitid(libc::P_PID, child as libc::id_t, &mut info, flags) }, 0);
    trace_in_every_way();
    let mut status = 0;
    // SAFETY: `status` is live.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, libc::__WCLONE) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 9, "the report is still the author's");
});

/// A session's descriptor in tokio's reactor.
struct Reactor(AsyncFd<OwnedFd>);

impl Readiness for Reactor {
    async fn readable(&mut self) -> std::io::Result<()> {
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}

case!(a_session_in_tokio_and_processes_of_tokio_know_nothing_of_each_other, || {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let processes = tokio::task::spawn_local(async {
            for status in 0..20 {
                let mut command = tokio::process::Command::new("/bin/sh");
                let ended = command.args(["-c", &format!("exit {status}")]).status().await.unwrap();
                assert_eq!(ended.code(), Some(status));
            }
        });
        let mut session = by_ptrace(|_| ());
        let (pid, work) = spawn_loop(&mut session);
        let id = session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
        session.resume(pid.leader()).unwrap();
        let descriptor = session.as_fd().try_clone_to_owned().unwrap();
        // SAFETY: the descriptor belongs to the registration, which closes it.
        let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
        let mut events = session.events(Reactor(registered.unwrap()));
        let mut hits = 0;
        while let Some(event) = events.next().await.unwrap() {
            hits += usize::from(matches!(&event.kind, EventKind::Hit(hit) if hit.is_of(id)));
            if event.is_held() {
                events.session().resume(event.tid).unwrap();
            }
        }
        assert_eq!(hits.to_string(), CALLS);
        processes.await.unwrap();
    });
});

case!(copies_of_the_tracing_process_disturb_nothing, || {
    static DONE: AtomicBool = AtomicBool::new(false);
    let forker = std::thread::spawn(|| {
        while !DONE.load(Ordering::Acquire) {
            // SAFETY: the child makes one async-signal-safe call.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: ends the copy.
                unsafe { libc::_exit(0) };
            }
            // SAFETY: the child is this thread's.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        }
    });
    trace_threads(by_ptrace(|_| ()), wait);
    trace_threads(by_ptrace(|_| ()), by_descriptor);
    DONE.store(true, Ordering::Release);
    forker.join().unwrap();
});

case!(a_session_that_is_dropped_in_a_copy_of_the_process_stays_whole, || {
    let (mut session, pid, work) = at_work_in_ptrace();
    session.as_raw_fd();
    let id = session.insert(pid, &[Spec::count(work)]).unwrap()[0].unwrap();
    // SAFETY: the child drops a value whose memory is its own copy, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(session);
        // SAFETY: ends the copy.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the child is this thread's, and `status` is live.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    session.resume(pid.leader()).unwrap();
    let mut hits = 0;
    let outcome = run(&mut session, pid, |session, event| {
        if let EventKind::Exited(_) = event.kind {
            hits = session.breakpoint(pid, id).unwrap().hits();
        }
    });
    assert_eq!((outcome.exits.len(), hits.to_string().as_str()), (1, CALLS));
});

case!(a_signal_ends_a_wait_whose_flag_is_set, || {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut wanted: libc::sigaction = unsafe { std::mem::zeroed() };
    wanted.sa_sigaction = on_child as *const () as usize;
    // SAFETY: a live structure with an async-signal-safe handler.
    unsafe { libc::sigaction(libc::SIGUSR2, &wanted, std::ptr::null_mut()) };
    for busy_wait in [Duration::ZERO, Duration::from_micros(50)] {
        let mut session = by_ptrace(|options| options.busy_wait = busy_wait);
        let mut command = Command::new("/bin/cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let pid = session.spawn(command).unwrap();
        let stop = AtomicBool::new(false);
        let (ended, has_ended) = mpsc::channel();
        // SAFETY: takes nothing and cannot fail.
        let waiting = unsafe { libc::pthread_self() };
        std::thread::scope(|scope| {
            let stop = &stop;
            scope.spawn(move || {
                stop.store(true, Ordering::Release);
                let timeout = Err(mpsc::RecvTimeoutError::Timeout);
                while has_ended.recv_timeout(Duration::from_millis(1)) == timeout {
                    // SAFETY: the thread waits until this one has ended.
                    unsafe { libc::pthread_kill(waiting, libc::SIGUSR2) };
                }
            });
            session.resume(pid.leader()).unwrap();
            while let Some(event) = session.wait_unless(stop).unwrap() {
                if event.is_held() {
                    session.resume(event.tid).unwrap();
                }
            }
            ended.send(()).unwrap();
        });
        assert!(session.process(pid).is_some(), "the program still runs");
        // Its standard input ends.
        drop(session.take_stdio(pid));
        run(&mut session, pid, |_, _| ());
    }
});

#[test]
fn a_builder_is_opened_in_the_thread_that_it_is_moved_to() {
    let builder = SessionBuilder::default().mechanism(Mechanism::Ptrace).options(Options::default());
    // The thread that made the builder has a session of its own.
    let _other = Session::new().unwrap();
    std::thread::spawn(move || trace_one(builder.open().unwrap(), wait)).join().unwrap();
}

#[cfg(feature = "async")]
mod asynchronous {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};

    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use ubp::{EventKind, Readiness, Session, Spec};

    use super::{by_ptrace, prepared, spawn_loop, trace_threads};

    struct Reactor(AsyncFd<OwnedFd>);

    impl Reactor {
        fn of(session: &Session) -> Reactor {
            let descriptor = session.as_fd().try_clone_to_owned().unwrap();
            // SAFETY: the descriptor belongs to the registration, which closes it.
            Reactor(unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }.unwrap())
        }
    }

    impl Readiness for Reactor {
        async fn readable(&mut self) -> io::Result<()> {
            self.0.readable().await?.clear_ready();
            Ok(())
        }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap()
    }

    #[test]
    fn events_of_threads_come_by_a_reactor() {
        let runtime = runtime();
        trace_threads(by_ptrace(|_| ()), |session| {
            runtime.block_on(async {
                let reactor = Reactor::of(session);
                session.events(reactor).next().await.unwrap()
            })
        });
    }

    #[test]
    fn two_sessions_in_two_run_times_get_their_own_events() {
        prepared();
        let traced = || {
            let mut session = by_ptrace(|_| ());
            let (pid, work) = spawn_loop(&mut session);
            let id = session.insert(pid, &[Spec::event(work)]).unwrap()[0].unwrap();
            session.resume(pid.leader()).unwrap();
            let hits = runtime().block_on(async {
                let reactor = Reactor::of(&session);
                let mut events = session.events(reactor);
                let mut hits = 0;
                while let Some(event) = events.next().await.unwrap() {
                    hits += u32::from(matches!(&event.kind, EventKind::Hit(hit) if hit.is_of(id)));
                    if event.is_held() {
                        events.session().resume(event.tid).unwrap();
                    }
                }
                hits
            });
            assert_eq!(hits.to_string(), super::CALLS);
        };
        std::thread::scope(|scope| {
            scope.spawn(traced);
            scope.spawn(traced);
        });
    }
}
