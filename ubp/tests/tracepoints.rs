//! System calls over the module beside other users of the kernel's tracepoints. In a virtual machine the processors must take turns: the kernel changes
//! its code, of which QEMU before 8.1 may execute the old one.

mod common;

use std::io::Write;
use std::path::Path;

use common::*;
use ubp::{EventKind, Mechanism, Options, Pid, Session, Syscalls};

#[test]
fn system_calls_are_told_while_other_users_of_the_tracepoints_come_and_go() {
    const NAME: &str = "system_calls_are_told_while_other_users_of_the_tracepoints_come_and_go";
    let switch = Path::new("/sys/kernel/tracing/events/raw_syscalls/enable");
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    if !switch.exists() {
        let (name, at) = (c"tracefs".as_ptr(), c"/sys/kernel/tracing".as_ptr());
        // SAFETY: all strings end with a zero byte, and there is no data.
        unsafe { libc::mount(name, at, name, 0, std::ptr::null()) };
    }
    if !switch.exists() {
        return skip(NAME, "no tracefs");
    }
    let mut options = Options::default();
    (options.signals, options.threads, options.told_only) = (false, false, true);
    options.syscalls = Syscalls::NONE.with(libc::SYS_write as u64);
    let (mut child, mut out) = start(&build("watched", &[]), &["serve"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut session = Session::open(Mechanism::Kernel, options).unwrap();
    let pid = session.attach(Pid(child.id() as i32)).unwrap();
    // Returns how many calls the program made until one was told.
    let mut calls = |session: &mut Session| {
        for made in 1..=10_000 {
            stdin.write_all(b"x").unwrap();
            assert_eq!(line(&mut out), "done\n");
            let mut is_told = false;
            while let Some(event) = session.poll().unwrap() {
                is_told |= matches!(event.kind, EventKind::SyscallEntered(_));
            }
            if is_told {
                return made;
            }
        }
        panic!("no call is told");
    };
    assert_eq!(calls(&mut session), 1);
    for _ in 0..3 {
        std::fs::write(switch, "1").unwrap();
        assert_eq!(calls(&mut session), 1);
        std::fs::write(switch, "0").unwrap();
        // The kernel has cleared the flag of all threads, and the module sets it again for those of debuggees.
        assert!(calls(&mut session) >= 1);
        assert_eq!(calls(&mut session), 1);
    }
    session.detach(pid).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}
