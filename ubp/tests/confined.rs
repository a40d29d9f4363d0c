//! Programs under seccomp(2), which kills for system calls that a tracer would make in them.

mod common;

use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use common::*;
use ubp::{Address, InsertReason, Options, Pid, Session, Spec};

struct Confined {
    child: Child,
    stdin: ChildStdin,
    out: BufReader<ChildStdout>,
}

impl Confined {
    fn start(how: &str) -> Confined {
        let (mut child, mut out) = start(&build("confined", &[]), &[how]);
        assert_eq!(line(&mut out), "ready\n");
        let stdin = child.stdin.take().unwrap();
        Confined { child, stdin, out }
    }
    fn pid(&self) -> Pid {
        Pid(self.child.id() as i32)
    }
    fn works(&mut self) {
        self.stdin.write_all(b"x").unwrap();
        assert_eq!(line(&mut self.out), "worked\n");
    }
    fn ends(mut self) {
        drop(self.stdin);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn attach(pid: Pid) -> Session {
    let mut options = Options::default();
    (options.signals, options.threads) = (false, false);
    let mut session = Session::with_options(options).unwrap();
    session.attach(pid).unwrap();
    session
}

fn insert(session: &mut Session, pid: Pid) -> Result<ubp::BreakpointId, ubp::InsertError> {
    let program = build("confined", &[]);
    let work = load_address(session, pid) + symbols(&program)["work"];
    session.insert(pid, &[Spec::count(Address(work))]).unwrap()[0]
}

/// Takes `CAP_SYS_ADMIN` from the calling thread alone (capabilities(7)).
fn without_administration<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    const VERSION_3: u32 = 0x2008_0522;
    const ADMINISTRATION: u32 = 21;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let header = [VERSION_3, 0];
            let mut sets = [0u32; 6];
            // SAFETY: header and sets are live and of the layout that this version has.
            unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
            sets[0] &= !(1 << ADMINISTRATION);
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
            run()
        });
        thread.join().unwrap()
    })
}

#[test]
fn who_may_suspend_the_filter_counts_and_the_program_lives() {
    for how in ["strict", "filter"] {
        let mut confined = Confined::start(how);
        let pid = confined.pid();
        let mut session = attach(pid);
        let id = match insert(&mut session, pid) {
            Ok(id) => id,
            // This test has no CAP_SYS_ADMIN itself.
            Err(error) => {
                assert_eq!(error.reason, InsertReason::Confined);
                drop(session);
                confined.works();
                confined.ends();
                continue;
            }
        };
        std::thread::scope(|scope| {
            let worked = scope.spawn(|| (0..3).for_each(|_| confined.works()));
            while !worked.is_finished() {
                session.poll().unwrap();
                std::thread::yield_now();
            }
        });
        assert_eq!(session.breakpoint(pid, id).unwrap().hits(), 3);
        session.detach(pid).unwrap();
        confined.works();
        confined.ends();
    }
}

#[test]
fn who_may_not_is_refused_by_name_and_the_program_lives() {
    if session().mechanism() == ubp::Mechanism::Kernel {
        return;
    }
    for how in ["strict", "filter"] {
        let mut confined = Confined::start(how);
        let pid = confined.pid();
        without_administration(|| {
            let mut session = attach(pid);
            let error = insert(&mut session, pid).unwrap_err();
            assert_eq!(error.reason, InsertReason::Confined);
            assert!(error.to_string().contains("seccomp"), "{error}");
            session.detach(pid).unwrap();
        });
        confined.works();
        confined.ends();
    }
}
