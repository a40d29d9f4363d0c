//! Processes that a session traces as soon as they execute a program.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::*;
use ubp::{BreakpointId, Error, Event, EventKind, Follow, FollowError, Mechanism, Pid, Session, Spec};

/// A name of loop.c's program that no other test executes.
fn own(name: &str) -> PathBuf {
    let program = build("loop", &[]);
    let link = program.with_file_name(format!("follow-{}-{name}", std::process::id()));
    std::fs::hard_link(program, &link).unwrap();
    link
}

fn pattern(program: &Path) -> Vec<u8> {
    program.to_str().unwrap().into()
}

/// Starts a program that nobody traces.
fn begin(program: &Path, arguments: &[&str]) -> Child {
    Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap()
}

fn output(child: Child) -> String {
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// Takes events and lets their threads go, until `is_last` says so of one.
fn take_until(session: &mut Session, mut is_last: impl FnMut(&mut Session, &Event) -> bool) {
    loop {
        let event = session.wait().unwrap().expect("a session that follows does not end");
        let is_last = is_last(session, &event);
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
        if is_last {
            return;
        }
    }
}

/// Counts the calls of `work` in each followed process, until `most` processes have ended.
fn count_in_all(session: &mut Session, most: usize) -> BTreeMap<Pid, u64> {
    let mut ids: BTreeMap<Pid, BreakpointId> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    take_until(session, |session, event| {
        match event.kind {
            EventKind::Followed(_) => {
                let work = symbol(session, event.pid, "work");
                let id = session.insert(event.pid, &[Spec::count(work)]).unwrap().remove(0).unwrap();
                assert_eq!(ids.insert(event.pid, id), None, "a process is told of once");
            }
            EventKind::Exited(_) => {
                let id = ids[&event.pid];
                counts.insert(event.pid, session.breakpoint(event.pid, id).unwrap().hits());
            }
            _ => {}
        }
        counts.len() == most
    });
    counts
}

/// The processes that are followed until `last`, which is let go too.
fn followed_until(session: &mut Session, last: Pid) -> BTreeSet<Pid> {
    let mut all = BTreeSet::new();
    take_until(session, |_, event| {
        if let EventKind::Followed(_) = event.kind {
            all.insert(event.pid);
        }
        all.contains(&last)
    });
    all
}

fn pid(child: &Child) -> Pid {
    Pid(child.id() as i32)
}

#[test]
fn every_call_in_every_process_that_executes_the_program_is_counted() {
    const NAME: &str = "every_call_in_every_process_that_executes_the_program_is_counted";
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    let program = own("all");
    let other = own("another");
    let expected = String::from_utf8(undisturbed(&program, &["9"]).stdout).unwrap();
    let mut session = session();
    session.follow(&Follow::new().program(pattern(&program))).unwrap();
    let children: Vec<Child> = (0..20).map(|_| begin(&program, &["9"])).collect();
    let alone = begin(&other, &["9"]);
    let pids: Vec<Pid> = children.iter().map(pid).collect();
    let counts = count_in_all(&mut session, children.len());
    assert_eq!(counts, pids.iter().map(|pid| (*pid, 9)).collect());
    children.into_iter().chain([alone]).for_each(|child| assert_eq!(output(child), expected));
}

#[test]
fn a_shell_that_starts_many_at_once_starts_none_unseen() {
    const NAME: &str = "a_shell_that_starts_many_at_once_starts_none_unseen";
    const MANY: usize = 60;
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    let program = own("storm");
    let mut session = session();
    session.follow(&Follow::new().program(program.file_name().unwrap().to_str().unwrap())).unwrap();
    let script = format!("i=0; while [ $i -lt {MANY} ]; do {} 3 & i=$((i+1)); done; wait", program.display());
    let shell = Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).spawn().unwrap();
    let counts = count_in_all(&mut session, MANY);
    assert_eq!(counts.values().sum::<u64>(), 3 * MANY as u64);
    assert!(shell.wait_with_output().unwrap().status.success());
}

#[test]
fn all_conditions_must_hold() {
    const NAME: &str = "all_conditions_must_hold";
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    let program = own("conditions");
    let named = Follow::new().program(pattern(&program));
    let plain = |_: &mut Command| ();
    let check = |follow: Follow, inside: &dyn Fn(&mut Command)| {
        let mut session = session();
        session.follow(&follow).unwrap();
        let start = |choose: &dyn Fn(&mut Command)| {
            let mut command = Command::new(&program);
            choose(command.arg("1").stdout(Stdio::null()));
            command.spawn().unwrap()
        };
        let (outside, inside) = (start(&plain), start(inside));
        let (first, last) = (pid(&outside), pid(&inside));
        let followed = followed_until(&mut session, last);
        assert_eq!(followed, BTreeSet::from([last]), "{follow:?} names {last} and not {first}");
        drop(session);
        [outside, inside].into_iter().for_each(|child| assert!(child.wait_with_output().unwrap().status.success()));
    };
    check(named.clone().user(65534), &|command: &mut Command| {
        command.uid(65534);
    });
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("groups-{}", std::process::id()));
    let group = root.join(format!("ntrace-{}", std::process::id())).join("below");
    std::fs::create_dir_all(&root).unwrap();
    let mounted = Command::new("mount").args(["-t", "cgroup2", "none"]).arg(&root).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip(NAME, "no cgroup2 for the condition on the group");
    }
    std::fs::create_dir_all(&group).unwrap();
    let inode = std::fs::metadata(group.parent().unwrap()).unwrap().ino();
    check(named.clone().group(inode), &|command: &mut Command| {
        let processes = group.join("cgroup.procs");
        // SAFETY: the closure writes a file, between fork and exec of a program whose other threads hold no lock that it takes.
        unsafe { command.pre_exec(move || std::fs::write(&processes, "0")) };
    });
    std::fs::remove_dir(&group).unwrap();
    std::fs::remove_dir(group.parent().unwrap()).unwrap();
    assert!(Command::new("umount").arg(&root).status().unwrap().success());
}

#[test]
fn a_pid_namespace_can_be_followed_from_outside() {
    const NAME: &str = "a_pid_namespace_can_be_followed_from_outside";
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    let program = own("namespace");
    // The first process of the namespace starts the program for each line.
    let script = format!("echo; while read line; do {} 4; done; exit 0", program.display());
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut inside = inside.spawn().unwrap();
    let mut to = inside.stdin.take().unwrap();
    let mut out = BufReader::new(inside.stdout.take().unwrap());
    line(&mut out);
    let children = format!("/proc/{0}/task/{0}/children", inside.id());
    let first = std::fs::read_to_string(children).unwrap();
    let number = |process: &str| std::fs::metadata(format!("/proc/{process}/ns/pid")).unwrap().ino();
    let mut session = session();
    let there = Follow::new().program(pattern(&program)).namespace(number(first.trim()));
    let rule = session.follow(&there).unwrap();
    let outside = begin(&program, &["4"]);
    to.write_all(b"\n").unwrap();
    let counts = count_in_all(&mut session, 1);
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [4]);
    assert!(!counts.contains_key(&pid(&outside)), "{counts:?}");
    output(outside);
    // The namespace of this test has the other one in it.
    session.unfollow(rule).unwrap();
    session.follow(&Follow::new().program(pattern(&program)).namespace(number("self"))).unwrap();
    to.write_all(b"\n").unwrap();
    assert_eq!(count_in_all(&mut session, 1).into_values().collect::<Vec<_>>(), [4]);
    drop(to);
    assert!(inside.wait().unwrap().success());
}

#[test]
fn a_followed_program_runs_on_when_the_session_ends() {
    const NAME: &str = "a_followed_program_runs_on_when_the_session_ends";
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    let program = own("left");
    let expected = String::from_utf8(undisturbed(&program, &["12"]).stdout).unwrap();
    let mut session = session();
    session.follow(&Follow::new().program(pattern(&program))).unwrap();
    let child = begin(&program, &["12"]);
    let event = session.wait().unwrap().unwrap();
    assert!(matches!(event.kind, EventKind::Followed(_)) && event.pid == pid(&child), "{event:?}");
    let work = symbol(&session, event.pid, "work");
    session.insert(event.pid, &[Spec::count(work)]).unwrap().remove(0).unwrap();
    drop(session);
    assert_eq!(output(child), expected);
}

#[test]
fn what_is_no_longer_followed_is_left_alone_and_the_session_ends() {
    const NAME: &str = "what_is_no_longer_followed_is_left_alone_and_the_session_ends";
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    let program = own("unfollowed");
    let mut session = session();
    let all = Follow::new().program(pattern(&program));
    let (one, other) = (session.follow(&all).unwrap(), session.follow(&all).unwrap());
    assert_ne!(one, other);
    let child = begin(&program, &["2"]);
    // The older rule takes it, and the process is traced once.
    let event = session.wait().unwrap().unwrap();
    assert_eq!(event.kind, EventKind::Followed(one));
    session.resume(event.tid).unwrap();
    session.unfollow(one).unwrap();
    session.unfollow(other).unwrap();
    output(begin(&program, &["2"]));
    let mut exits = 0;
    while let Some(event) = session.wait().unwrap() {
        assert_eq!(event.pid, pid(&child), "{event:?}");
        exits += u32::from(matches!(event.kind, EventKind::Exited(_)));
        if event.is_held() {
            session.resume(event.tid).unwrap();
        }
    }
    assert_eq!(exits, 1);
    output(child);
}

#[test]
fn a_program_that_a_traced_process_executes_is_no_new_one() {
    const NAME: &str = "a_program_that_a_traced_process_executes_is_no_new_one";
    if mechanism() != Mechanism::Kernel {
        return skip(NAME, "no /dev/ntrace");
    }
    let program = own("again");
    let mut session = session();
    session.follow(&Follow::new().program(pattern(&program))).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {} 2", program.display())]).stdin(Stdio::null()).stdout(Stdio::piped());
    let pid = session.spawn(shell).unwrap();
    session.resume(pid.leader()).unwrap();
    let mut executed = 0;
    take_until(&mut session, |_, event| {
        assert_eq!(event.pid, pid);
        assert!(!matches!(event.kind, EventKind::Followed(_)), "{event:?}");
        executed += u32::from(event.kind == EventKind::Exec);
        matches!(event.kind, EventKind::Exited(_))
    });
    assert_eq!(executed, 1);
}

#[test]
fn what_cannot_be_followed_is_refused_with_the_reason() {
    let refused = Session::new().unwrap().follow(&Follow::new());
    assert!(matches!(refused, Err(Error::Unsupported { mechanism: Mechanism::Ptrace, .. })), "{refused:?}");
    if mechanism() == Mechanism::Kernel {
        let long = session().follow(&Follow::new().program("x".repeat(257)));
        assert!(matches!(long, Err(Error::Follow(FollowError::Pattern { bytes: 257 }))), "{long:?}");
    }
}
