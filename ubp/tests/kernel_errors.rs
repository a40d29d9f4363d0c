//! Whatever call of the kernel fails in an operation, the thread stays held, or runs as asked, and the program does what it does alone.
//!
//! A filter of seccomp(2) asks a thread of this process before each request of ptrace(2), each signal that the tracer sends, and each access to the
//! debuggee's memory; that thread lets one of them fail.
#![cfg(target_arch = "x86_64")]

mod common;

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use common::*;
use ubp::{
    Access, Address, Comparison, Error, EventKind, Operand, Patch, Pid, RegisterSet, Session, Signal, Spec, Syscalls,
};

/// Requests that fail for a thread alone that has ended, or that is given what is no signal.
const NEVER_FAIL: [libc::c_uint; 6] = [
    libc::PTRACE_CONT,
    libc::PTRACE_SYSCALL,
    libc::PTRACE_SINGLESTEP,
    libc::PTRACE_INTERRUPT,
    libc::PTRACE_LISTEN,
    libc::PTRACE_DETACH,
];
/// Where `struct seccomp_data` has the number of the call and the low half of its first argument.
const NUMBER: u32 = 0;
const REQUEST: u32 = 16;

/// An argument that the program does not read, which the processes of one test have.
const STARTED: &str = "started by kernel_errors";

/// Decides about the calls of one thread, and lets all of those that inherit the filter happen.
struct Judge {
    thread: u32,
    /// The number of calls until one fails; none does below zero.
    left: AtomicI64,
    failed: AtomicU32,
}

impl Judge {
    /// Installs the filter in the calling thread. The thread that decides ends with it.
    fn install() -> Arc<Judge> {
        let statement = |code: u32, jt, jf, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
        let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
        let is = |value, yes, no| statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, yes, no, value);
        let answer = |value| statement(libc::BPF_RET | libc::BPF_K, 0, 0, value);
        let count = NEVER_FAIL.len() as u8;
        let mut program = vec![
            load(NUMBER),
            is(libc::SYS_tgkill as u32, count + 4, 0),
            is(libc::SYS_pread64 as u32, count + 3, 0),
            is(libc::SYS_pwrite64 as u32, count + 2, 0),
            is(libc::SYS_ptrace as u32, 0, count + 2),
            load(REQUEST),
        ];
        program.extend(NEVER_FAIL.iter().zip(0..).map(|(request, number)| is(*request, count - number, 0)));
        program.extend([answer(libc::SECCOMP_RET_USER_NOTIF), answer(libc::SECCOMP_RET_ALLOW)]);
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: prctl takes numbers.
        assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
        let (operation, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        // SAFETY: the filter is live, and the call changes no memory.
        let listener = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, &raw const filter) };
        assert!(listener >= 0, "{}", std::io::Error::last_os_error());
        // SAFETY: the kernel made the descriptor for this call.
        let listener = unsafe { OwnedFd::from_raw_fd(listener as i32) };
        // SAFETY: the call only returns a number.
        let thread = unsafe { libc::gettid() } as u32;
        let judge = Arc::new(Judge { thread, left: AtomicI64::new(-1), failed: AtomicU32::new(0) });
        let decides = judge.clone();
        std::thread::spawn(move || decides.decide(&listener));
        judge
    }

    /// Decides until the filter's thread has ended.
    fn decide(&self, listener: &OwnedFd) {
        loop {
            // SAFETY: the structures consist of numbers.
            let (mut asked, mut answer): (libc::seccomp_notif, libc::seccomp_notif_resp) =
                unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            // SAFETY: the request writes the structure.
            if unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) } != 0 {
                return;
            }
            answer.id = asked.id;
            answer.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
            let is_judged = asked.pid == self.thread && self.left.load(Ordering::SeqCst) >= 0;
            if is_judged && self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
                self.failed.fetch_add(1, Ordering::SeqCst);
                (answer.flags, answer.error) = (0, -libc::EIO);
            }
            // SAFETY: the request reads the structure.
            unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
        }
    }
}

type Operation = fn(&mut Session, Pid, Address) -> Result<(), Error>;

/// Operations after which a thread runs.
const RUNNING: [(&str, Operation); 5] = [
    ("resume", |session, pid, _| session.resume(pid.leader())),
    ("resume_with", |session, pid, _| session.resume_with(pid.leader(), Some(Signal(libc::SIGWINCH)))),
    ("step", |session, pid, _| session.step(pid.leader())),
    ("step_over", |session, pid, _| session.step_over(pid.leader())),
    ("run_to", |session, pid, work| session.run_to(pid.leader(), work)),
];

/// Operations that let a thread make system calls, because the session has no memory in the process yet.
const FIRST: [(&str, Operation); 3] = [
    ("first insert", |session, pid, work| session.insert(pid, &[Spec::count(work)]).map(drop)),
    ("first call", |session, pid, work| session.call(pid.leader(), work, &[3]).map(drop)),
    ("first jump", |session, pid, work| session.insert(pid, &[Spec::count(work).patch(Patch::Jump)]).map(drop)),
];

/// Operations after which a thread is held as before.
const HOLDING: [(&str, Operation); 16] = [
    ("registers", |session, pid, _| session.registers(pid.leader()).map(drop)),
    ("set_registers", |session, pid, _| {
        let registers = session.registers(pid.leader())?;
        session.set_registers(pid.leader(), &registers)
    }),
    ("register_set", |session, pid, _| session.register_set(pid.leader(), RegisterSet::FLOAT).map(drop)),
    ("set_register_set", |session, pid, _| {
        let set = session.register_set(pid.leader(), RegisterSet::FLOAT)?;
        session.set_register_set(pid.leader(), RegisterSet::FLOAT, &set)
    }),
    ("vector_registers", |session, pid, _| session.vector_registers(pid.leader()).map(drop)),
    ("read_memory", |session, pid, work| session.read_memory(pid, work, &mut [0; 64]).map(drop)),
    ("write_memory", |session, pid, work| {
        let mut code = [0; 16];
        session.read_memory(pid, work, &mut code)?;
        session.write_memory(pid, work, &code)
    }),
    ("insert", |session, pid, work| session.insert(pid, &[Spec::count(work)]).map(drop)),
    ("insert of a condition", |session, pid, work| {
        let spec = Spec::count(work).when(Operand::Arrivals.is(Comparison::Above, 3));
        session.insert(pid, &[spec]).map(drop)
    }),
    ("remove", |session, pid, _| {
        let ids: Vec<_> = session.breakpoints(pid).map(|breakpoint| breakpoint.id()).collect();
        session.remove(pid, &ids)
    }),
    ("modules", |session, pid, _| session.modules(pid).map(drop)),
    ("trace_syscalls", |session, pid, _| session.trace_syscalls(pid, Syscalls::NONE)),
    ("watch", |session, pid, work| {
        let id = session.watch(pid, work, 4, Access::ReadWrite)?;
        session.unwatch(pid, id)
    }),
    ("stop", |session, pid, _| session.stop(pid)),
    ("call", |session, pid, work| session.call(pid.leader(), work, &[3]).map(drop)),
    ("resume_with no signal of the kernel's", |session, pid, _| {
        session.resume_with(pid.leader(), Some(Signal(999))).or(Ok(()))
    }),
];

/// Where a thread is held when the operation begins, and what it does afterwards.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    AtStart,
    AtHit,
    RunsFromHit,
    /// At a hit, and a jump stands where the program goes on to.
    BeforeJump,
}

/// Runs a program to the first hit of a breakpoint.
fn to_hit(session: &mut Session, pid: Pid, spec: Spec) {
    session.insert(pid, &[spec]).unwrap()[0].unwrap();
    session.resume(pid.leader()).unwrap();
    while !matches!(session.wait().unwrap().unwrap().kind, EventKind::Hit(_)) {
        session.resume(pid.leader()).unwrap();
    }
}

/// Runs a program to the hit of a breakpoint in front of a jump.
fn before_jump(session: &mut Session, pid: Pid, work: Address) {
    let main = symbol(session, pid, "main");
    to_hit(session, pid, Spec::event(main));
    session.insert(pid, &[Spec::count(work).patch(Patch::Jump)]).unwrap()[0].unwrap();
}

/// Lets the call of this number fail in an operation. Returns whether there were as many.
fn fails(name: &str, operation: Operation, number: i64, case: Case) -> bool {
    let (mut session, pid, work) = at_work_by_ptrace(&["5"]);
    match case {
        Case::AtStart => (),
        Case::AtHit | Case::RunsFromHit => to_hit(&mut session, pid, Spec::event(work)),
        Case::BeforeJump => before_jump(&mut session, pid, work),
    }
    let before = session.registers(pid.leader()).unwrap();
    let judge = Judge::install();
    judge.left.store(number, Ordering::SeqCst);
    let answer = operation(&mut session, pid, work);
    judge.left.store(-1, Ordering::SeqCst);
    let failed = judge.failed.load(Ordering::SeqCst) > 0;
    let context = format!("call {number} of {name} failed: {failed}; {answer:?}");
    if case != Case::RunsFromHit || answer.is_err() {
        let after = session.registers(pid.leader()).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(after, before, "{context}");
        session.resume(pid.leader()).unwrap_or_else(|error| panic!("{context}: {error}"));
    }
    let outcome = run(&mut session, pid, |_, _| {});
    let plain = undisturbed(&build("loop", &[]), &["5"]);
    assert_eq!(exit_of(&outcome), EventKind::Exited(plain.status.code().unwrap()), "{context}");
    assert_eq!(outcome.output, plain.stdout, "{context}");
    failed
}

/// Lets the call of this number fail while a session leaves a program at a hit. Returns whether there were as many.
fn fails_to_leave(number: i64, case: Case) -> bool {
    let (mut session, pid, work) = at_work_by_ptrace(&["5"]);
    let mut output = session.take_stdio(pid).stdout.unwrap();
    match case {
        Case::BeforeJump => before_jump(&mut session, pid, work),
        _ => to_hit(&mut session, pid, Spec::event(work)),
    }
    let judge = Judge::install();
    judge.left.store(number, Ordering::SeqCst);
    let answer = session.detach(pid);
    judge.left.store(-1, Ordering::SeqCst);
    let failed = judge.failed.load(Ordering::SeqCst) > 0;
    let context = format!("call {number} of detach failed: {failed}; {answer:?}");
    assert!(session.process(pid).is_none(), "{context}");
    let mut told = Vec::new();
    output.read_to_end(&mut told).unwrap();
    let plain = undisturbed(&build("loop", &[]), &["5"]);
    assert_eq!(told, plain.stdout, "{context}");
    let mut status = 0;
    // SAFETY: the program is a child of this process, and the call writes a number.
    assert_eq!(unsafe { libc::waitpid(pid.0, &raw mut status, 0) }, pid.0, "{context}");
    assert_eq!((libc::WIFEXITED(status), Some(libc::WEXITSTATUS(status))), (true, plain.status.code()), "{context}");
    failed
}

/// Lets the call of this number fail while a session attaches to a program whose threads work. Returns whether there were as many.
fn fails_to_attach(number: i64) -> bool {
    let (mut child, mut out) = start(&build("killed", &["-pthread"]), &[]);
    assert_eq!(line(&mut out), "ready\n");
    let pid = Pid(child.id() as i32);
    let mut session = Session::new().unwrap();
    let judge = Judge::install();
    judge.left.store(number, Ordering::SeqCst);
    let answer = session.attach(pid);
    judge.left.store(-1, Ordering::SeqCst);
    let failed = judge.failed.load(Ordering::SeqCst) > 0;
    let context = format!("call {number} of attach failed: {failed}; {answer:?}");
    match answer {
        Ok(_) => session.detach(pid).unwrap_or_else(|error| panic!("{context}: {error}")),
        Err(_) => assert_eq!(tracers(pid), Vec::<String>::new(), "{context}"),
    }
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    assert_eq!(line(&mut out), "wrong 0 traps 0\n", "{context}");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{context}");
    failed
}

/// Lets the call of this number fail while a session starts a program. Returns whether there were as many.
fn fails_to_spawn(number: i64) -> bool {
    let path = build("loop", &[]);
    let mut session = Session::new().unwrap();
    let judge = Judge::install();
    judge.left.store(number, Ordering::SeqCst);
    let answer = session.spawn(piped(&path, &["5", STARTED]));
    judge.left.store(-1, Ordering::SeqCst);
    let failed = judge.failed.load(Ordering::SeqCst) > 0;
    let context = format!("call {number} of spawn failed: {failed}; {answer:?}");
    match answer {
        Ok(pid) => {
            session.resume(pid.leader()).unwrap_or_else(|error| panic!("{context}: {error}"));
            let (outcome, plain) = (run(&mut session, pid, |_, _| {}), undisturbed(&path, &["5"]));
            assert_eq!(exit_of(&outcome), EventKind::Exited(plain.status.code().unwrap()), "{context}");
            assert_eq!(outcome.output, plain.stdout, "{context}");
        }
        Err(_) => assert!(!is_started(), "{context}"),
    }
    failed
}

/// Whether a process runs that was started with the argument [`STARTED`].
fn is_started() -> bool {
    let processes = std::fs::read_dir("/proc").unwrap();
    let mut lines = processes.filter_map(|process| std::fs::read(process.ok()?.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|word| word == STARTED.as_bytes()))
}

/// The tracers that the threads of a process have.
fn tracers(pid: Pid) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid.0)).unwrap();
    let status = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("status")).ok());
    let lines = status.filter_map(|text| text.lines().find(|line| line.starts_with("TracerPid:")).map(str::to_owned));
    lines.filter(|line| !line.ends_with("\t0")).collect()
}

/// Whether the kernel lets a thread decide about the calls of another.
fn can_decide(test: &str) -> bool {
    let mut sizes = [0_u16; 3];
    // SAFETY: the call writes three numbers of 16 bits.
    let told = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, sizes.as_mut_ptr()) };
    if told != 0 {
        skip(test, "the kernel has no user notifications of seccomp(2)");
    }
    told == 0
}

/// Lets each call of each operation fail.
fn let_each_fail(operations: &[(&'static str, Operation)], case: Case) {
    build("loop", &[]);
    for &(name, operation) in operations {
        let mut number = 0;
        // A thread keeps its filter for ever.
        while std::thread::spawn(move || fails(name, operation, number, case)).join().unwrap() {
            number += 1;
        }
    }
}

#[test]
fn whatever_call_fails_a_held_thread_stays_held_and_the_program_goes_on_as_alone() {
    if !can_decide("whatever_call_fails_a_held_thread_stays_held_and_the_program_goes_on_as_alone") {
        return;
    }
    let_each_fail(&HOLDING, Case::AtHit);
    let_each_fail(&FIRST, Case::AtStart);
    let_each_fail(&HOLDING, Case::BeforeJump);
}

#[test]
fn whatever_call_fails_a_thread_is_held_or_runs_as_it_was_asked_to() {
    if can_decide("whatever_call_fails_a_thread_is_held_or_runs_as_it_was_asked_to") {
        let_each_fail(&RUNNING, Case::RunsFromHit);
    }
}

#[test]
fn whatever_call_fails_a_program_that_is_left_goes_on_as_alone() {
    if !can_decide("whatever_call_fails_a_program_that_is_left_goes_on_as_alone") {
        return;
    }
    build("loop", &[]);
    for case in [Case::AtHit, Case::BeforeJump] {
        let mut number = 0;
        while std::thread::spawn(move || fails_to_leave(number, case)).join().unwrap() {
            number += 1;
        }
        assert!(number > 5, "{number} calls");
    }
}

#[test]
fn whatever_call_fails_a_program_is_attached_to_or_goes_on_as_alone() {
    if !can_decide("whatever_call_fails_a_program_is_attached_to_or_goes_on_as_alone") {
        return;
    }
    let mut number = 0;
    // There are hundreds of calls, and the later ones resemble each other.
    while std::thread::spawn(move || fails_to_attach(number)).join().unwrap() {
        number += 1 + number / 16;
    }
    assert!(number > 5, "{number} calls");
}

#[test]
fn whatever_call_fails_a_program_is_started_or_nothing_is_left_of_it() {
    if !can_decide("whatever_call_fails_a_program_is_started_or_nothing_is_left_of_it") {
        return;
    }
    let mut number = 0;
    while std::thread::spawn(move || fails_to_spawn(number)).join().unwrap() {
        number += 1;
    }
    assert!(number > 0, "{number} calls");
}
