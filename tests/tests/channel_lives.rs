//! The channel and lives: threads begin and end, processes fork, execute and end.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command as Program, Stdio};

use crossing::channel::DEVICE;
use crossing::in_turn;
use crossing::line::Line;
use crossing::victim::Victim;
use wire::commands::{Command, Reply, option};
use wire::events::Event;
use wire::site::{Condition, Memory, Relation, Site, Subject, action};
use wire::{Failure, Status};

#[inline(never)]
extern "C" fn leaf(number: u64) -> u64 {
    std::hint::black_box(number).wrapping_mul(3) ^ 5
}

/// Calls `leaf` `number` times.
fn calls(number: u64) -> u64 {
    (0..number).fold(7, |sum, step| sum.wrapping_add(leaf(std::hint::black_box(step))))
}

fn threads(number: u64) -> u64 {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(move || calls(number))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).fold(0, u64::wrapping_add)
    })
}

fn exits(number: u64) -> u64 {
    // SAFETY: _exit does not return, and runs no code of this process.
    unsafe { libc::_exit(number as i32) }
}

/// Ends this thread. Another one goes on, until a signal ends the process in a minute.
fn leaves(_: u64) -> u64 {
    std::thread::spawn(|| {
        loop {
            std::thread::park();
        }
    });
    // SAFETY: the thread has nothing that anybody waits for.
    unsafe {
        libc::alarm(60);
        libc::syscall(libc::SYS_exit, 0) as u64
    }
}

/// Does the work, and then has a child do it, of which the status is given.
fn forks(number: u64) -> u64 {
    calls(number);
    // SAFETY: the child does nothing but compute.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit((calls(number) & 0x7f) as i32);
        }
        status_of(child)
    }
}

/// Has a program do nothing, in a process that shares this one's memory until it begins.
fn spawns(_: u64) -> u64 {
    let mut child = 0;
    let arguments = [c"true".as_ptr().cast_mut(), std::ptr::null_mut()];
    let environment = [std::ptr::null_mut()];
    // SAFETY: all that is pointed to is there.
    unsafe {
        let path = c"/bin/true".as_ptr();
        let (actions, attributes) = (std::ptr::null(), std::ptr::null());
        let error = libc::posix_spawn(&mut child, path, actions, attributes, arguments.as_ptr(), environment.as_ptr());
        assert_eq!(error, 0);
        status_of(child)
    }
}

fn status_of(child: libc::pid_t) -> u64 {
    let mut status = 0;
    // SAFETY: the status is this function's.
    unsafe { libc::waitpid(child, &mut status, 0) };
    status as u64
}

/// Does the work, and executes a program that does nothing.
fn executes(number: u64) -> u64 {
    calls(number);
    let arguments = [c"true".as_ptr(), std::ptr::null()];
    // SAFETY: all that is pointed to is there.
    unsafe { libc::execv(c"/bin/true".as_ptr(), arguments.as_ptr()) as u64 }
}

/// An event without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Held { debuggee: u64, thread: u64, reason: u64, address: u64 },
    Forked { debuggee: u64, process: u64, child: u64 },
    Executed(u64),
    Started { debuggee: u64, thread: u64 },
    ThreadEnded { debuggee: u64, thread: u64 },
    Ended { debuggee: u64, status: u64 },
}

fn next(line: &mut Line) -> Told {
    line.event(|event| match event {
        Event::Held { debuggee, thread, reason, address, .. } => Told::Held { debuggee, thread, reason, address },
        Event::Forked { debuggee, process, child, .. } => Told::Forked { debuggee, process, child },
        Event::Executed { debuggee, .. } => Told::Executed(debuggee),
        Event::ThreadStarted { debuggee, thread, .. } => Told::Started { debuggee, thread },
        Event::ThreadEnded { debuggee, thread, .. } => Told::ThreadEnded { debuggee, thread },
        Event::Ended { debuggee, status, .. } => Told::Ended { debuggee, status },
        other => panic!("{other:?}"),
    })
}

fn start(work: fn(u64) -> u64, options: u64) -> (Victim, Line, u64) {
    let victim = Victim::start(work);
    let mut line = Line::open();
    let debuggee = line.attach(victim.id(), options).unwrap();
    (victim, line, debuggee)
}

fn insert(line: &mut Line, debuggee: u64, address: u64, actions: u16, condition: Option<Condition>) {
    let site = Site { address, actions, memory: Memory::NONE, condition };
    line.ask(Command::Insert { debuggee, sites: &site.bytes() }, |told| {
        assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
    });
}

fn count(line: &mut Line, debuggee: u64, address: u64) -> u64 {
    line.ask(Command::Counts { debuggee, addresses: &address.to_ne_bytes() }, |told| match told {
        Ok(Reply::Counts { counts }) => u64::from_ne_bytes(counts.try_into().unwrap()),
        other => panic!("{other:?}"),
    })
}

fn site() -> u64 {
    leaf as *const () as u64
}

/// A shell that tells a line when it stands, and executes a program at the next line it is given.
struct Shell(Child);

impl Shell {
    fn start(program: &str, user: u32) -> Shell {
        let mut shell = Program::new("/bin/sh");
        shell.arg("-c").arg(format!("echo x; read line; exec {program}")).uid(user).gid(user);
        let shell = in_turn(|| shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn());
        let mut shell = Shell(shell.expect("it starts"));
        shell.answer();
        shell
    }

    fn say(&mut self, text: &str) {
        self.0.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn answer(&mut self) {
        let mut answer = [0; 2];
        self.0.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"x\n");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

crossing::channel_tests! {
    threads_are_told_of_when_they_begin_and_when_they_end {
        let (mut victim, mut line, debuggee) = start(threads, 0);
        let expected = threads(100);
        for _ in 0..3 {
            assert_eq!(victim.ask(100), expected);
            let (mut living, mut seen) = (BTreeSet::new(), BTreeSet::new());
            for _ in 0..8 {
                match next(&mut line) {
                    Told::Started { debuggee: of, thread } if of == debuggee => {
                        assert!(living.insert(thread) && seen.insert(thread));
                    }
                    Told::ThreadEnded { debuggee: of, thread } if of == debuggee => assert!(living.remove(&thread)),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!((living.len(), seen.len()), (0, 4));
        }
    }

    a_new_thread_is_held_before_it_runs {
        let (mut victim, mut line, debuggee) = start(threads, option::HOLD_NEW);
        insert(&mut line, debuggee, site(), 0, None);
        victim.order(10);
        let mut held = Vec::new();
        while held.len() < 4 {
            if let Told::Held { thread, reason, .. } = next(&mut line) {
                assert_eq!(reason, 5);
                held.push(thread);
            }
        }
        assert_eq!(count(&mut line, debuggee, site()), 0);
        for thread in held {
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        }
        assert_eq!(victim.answer(), threads(10));
        assert_eq!(count(&mut line, debuggee, site()), 40);
    }

    the_end_of_a_process_is_told_with_its_status {
        let (mut victim, mut line, debuggee) = start(exits, 0);
        let thread = victim.id().into();
        victim.order(7);
        assert_eq!(next(&mut line), Told::ThreadEnded { debuggee, thread });
        assert_eq!(next(&mut line), Told::Ended { debuggee, status: 7 << 8 });
        let gone = Err(Failure::new(Status::NoProcess, debuggee));
        assert_eq!(line.done(Command::Hold { debuggee, thread: 0 }), gone);
        drop(victim);

        let (victim, mut line, debuggee) = start(exits, 0);
        let thread = victim.id().into();
        drop(victim);
        assert_eq!(next(&mut line), Told::ThreadEnded { debuggee, thread });
        assert_eq!(next(&mut line), Told::Ended { debuggee, status: libc::SIGKILL as u64 });
    }

    a_child_has_its_own_copy_of_the_breakpoints_where_children_are_traced {
        let (mut victim, mut line, debuggee) = start(forks, option::CHILDREN | option::HOLD_NEW);
        insert(&mut line, debuggee, site(), 0, None);
        for round in 1..=3 {
            victim.order(20);
            let Told::Forked { debuggee: parent, process, child } = next(&mut line) else { panic!("not forked") };
            assert_eq!(parent, debuggee);
            assert!(child > debuggee);
            let Told::Held { debuggee: held, thread, reason, .. } = next(&mut line) else { panic!("not held") };
            assert_eq!((held, thread, reason), (child, process, 5));
            // Hits are counted on from those of the parent.
            assert_eq!(count(&mut line, child, site()), 20 * round);
            assert_eq!(line.done(Command::Remove { debuggee: child, addresses: &site().to_ne_bytes() }), Ok(()));
            let last = Condition { subject: Subject::Hits, relation: Relation::Equal, value: 20 };
            insert(&mut line, child, site(), action::HOLD, Some(last));
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
            let held = Told::Held { debuggee: child, thread, reason: 1, address: site() };
            assert_eq!(next(&mut line), held);
            assert_eq!(count(&mut line, child, site()), 20);
            assert_eq!(count(&mut line, debuggee, site()), 20 * round);
            assert_eq!(line.done(Command::Resume { thread }), Ok(()));
            let status = (calls(20) & 0x7f) << 8;
            assert_eq!(victim.answer(), status);
            assert_eq!(next(&mut line), Told::ThreadEnded { debuggee: child, thread });
            assert_eq!(next(&mut line), Told::Ended { debuggee: child, status });
        }
    }

    a_child_that_is_not_traced_is_told_of_and_has_no_breakpoint {
        let (mut victim, mut line, debuggee) = start(forks, option::HOLD_NEW);
        let plain = victim.ask(20);
        let is_untraced = |told| matches!(told, Told::Forked { debuggee: of, child: 0, .. } if of == debuggee);
        assert!(is_untraced(next(&mut line)));
        insert(&mut line, debuggee, site(), action::HOLD, Some(Condition { subject: Subject::Hits, relation: Relation::NotBelow, value: 21 }));
        assert_eq!(victim.ask(20), plain);
        assert!(is_untraced(next(&mut line)));
        assert_eq!(count(&mut line, debuggee, site()), 20);
    }

    two_sessions_have_each_its_own_child {
        let (mut victim, mut one, first) = start(forks, option::CHILDREN);
        let mut other = Line::open();
        let second = other.attach(victim.id(), 0).unwrap();
        insert(&mut one, first, site(), action::HOLD, Some(Condition { subject: Subject::Hits, relation: Relation::Equal, value: 30 }));
        insert(&mut other, second, site(), 0, None);
        victim.order(20);
        let Told::Forked { child, process, .. } = next(&mut one) else { panic!("not forked") };
        assert!(matches!(next(&mut other), Told::Forked { child: 0, process: of, .. } if of == process));
        let held = Told::Held { debuggee: child, thread: process, reason: 1, address: site() };
        assert_eq!(next(&mut one), held);
        assert_eq!(one.done(Command::Resume { thread: process }), Ok(()));
        assert_eq!(victim.answer(), (calls(20) & 0x7f) << 8);
        assert_eq!(count(&mut one, first, site()), 20);
        assert_eq!(count(&mut other, second, site()), 20);
    }

    many_children_one_after_the_other_are_traced {
        let (mut victim, mut line, debuggee) = start(forks, option::CHILDREN);
        insert(&mut line, debuggee, site(), 0, None);
        const MANY: u64 = 100;
        for _ in 0..MANY {
            assert_eq!(victim.ask(1), (calls(1) & 0x7f) << 8);
        }
        for number in 1..=MANY {
            let Told::Forked { child, process, .. } = next(&mut line) else { panic!("not forked") };
            assert_eq!(child, debuggee + number);
            assert_eq!(next(&mut line), Told::ThreadEnded { debuggee: child, thread: process });
            assert!(matches!(next(&mut line), Told::Ended { debuggee: of, .. } if of == child));
        }
    }

    a_child_is_traced_where_a_long_reply_is_not_read {
        let (mut victim, mut line, debuggee) = start(forks, option::CHILDREN);
        insert(&mut line, debuggee, site(), 0, None);
        let addresses = vec![0; 1 << 20];
        line.write(Command::Counts { debuggee, addresses: &addresses });
        victim.ask(1);
        line.reply(|told| match told {
            Ok(Reply::Counts { counts }) => assert_eq!(counts.len(), addresses.len()),
            other => panic!("{other:?}"),
        });
        // The event of another child would tell of lost ones.
        victim.ask(1);
        assert!(matches!(next(&mut line), Told::Forked { child, .. } if child == debuggee + 1));
    }

    a_program_that_is_executed_is_held_before_its_first_instruction {
        let mut shell = Shell::start("cat", 0);
        let mut line = Line::open();
        let thread = shell.0.id().into();
        let debuggee = line.attach(shell.0.id(), option::HOLD_EXECUTED).unwrap();
        shell.say("go\nx\n");
        assert_eq!(next(&mut line), Told::Executed(debuggee));
        let Told::Held { debuggee: of, thread: held, reason, address } = next(&mut line) else { panic!("not held") };
        assert_eq!((of, held, reason), (debuggee, thread, 4));
        insert(&mut line, debuggee, address, action::HOLD, None);
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        assert_eq!(next(&mut line), Told::Held { debuggee, thread, reason: 1, address });
        assert_eq!(count(&mut line, debuggee, address), 1);
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        shell.answer();
        assert_eq!(line.done(Command::Detach { debuggee }), Ok(()));
        shell.say("x\n");
        shell.answer();
    }

    a_process_that_executes_what_its_tracer_may_not_trace_has_ended_for_it {
        const NOBODY: u32 = 65534;
        let folder = std::env::temp_dir().join(format!("ntrace-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let program = folder.join("cat");
        // A process that another test makes meanwhile would have the copy's descriptor, and nobody executes a file that is open for writing.
        let copy = in_turn(|| Program::new("cp").arg("/bin/cat").arg(&program).spawn());
        assert!(copy.unwrap().wait().unwrap().success());
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut shell = Shell::start(program.to_str().unwrap(), NOBODY);
        let (file, keeper) = opened_by(NOBODY);
        let mut line = Line::of(file);
        let options = option::KILL | option::CHILDREN | option::HOLD_EXECUTED;
        let debuggee = line.attach(shell.0.id(), options).unwrap();
        shell.say("go\nx\n");
        assert_eq!(next(&mut line), Told::Ended { debuggee, status: u64::MAX });
        shell.answer();
        let gone = Err(Failure::new(Status::NoProcess, debuggee));
        assert_eq!(line.done(Command::ReadMemory { debuggee, address: 0, length: 1 }), gone);
        assert_eq!(line.attach(shell.0.id(), 0), Err(Failure::new(Status::Denied, shell.0.id().into())));
        drop((line, keeper));
        shell.say("x\n");
        shell.answer();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    a_process_that_shares_memory_until_it_executes_is_traced_with_it_and_then_by_itself {
        let (mut victim, mut line, debuggee) = start(spawns, option::CHILDREN);
        assert_eq!(victim.ask(0), 0);
        let Told::Forked { debuggee: parent, process, child } = next(&mut line) else { panic!("not forked") };
        assert_eq!((parent, child), (debuggee, debuggee));
        let Told::Forked { debuggee: parent, process: again, child } = next(&mut line) else { panic!("not forked") };
        assert_eq!((parent, again), (debuggee, process));
        assert!(child > debuggee);
        assert_eq!(next(&mut line), Told::Executed(child));
        assert_eq!(next(&mut line), Told::ThreadEnded { debuggee: child, thread: process });
        assert_eq!(next(&mut line), Told::Ended { debuggee: child, status: 0 });

        let (mut victim, mut line, debuggee) = start(spawns, 0);
        assert_eq!(victim.ask(0), 0);
        let Told::Forked { process, child, .. } = next(&mut line) else { panic!("not forked") };
        assert_eq!(child, debuggee);
        assert_eq!(next(&mut line), Told::Forked { debuggee, process, child: 0 });
    }

    the_memory_of_a_process_that_ended_can_be_read_until_it_is_detached_where_it_is_kept {
        let (mut victim, mut line, debuggee) = start(calls, option::KEEP);
        insert(&mut line, debuggee, site(), 0, None);
        victim.ask(20);
        victim.end();
        while !matches!(next(&mut line), Told::Ended { .. }) {}
        assert_eq!(count(&mut line, debuggee, site()), 20);
        assert_eq!(line.done(Command::Detach { debuggee }), Ok(()));
        let gone = Err(Failure::new(Status::NoProcess, debuggee));
        assert_eq!(line.done(Command::Counts { debuggee, addresses: &[] }), gone);
    }

    the_memory_of_a_program_that_executed_another_is_kept_by_a_number_of_its_own {
        let (mut victim, mut line, debuggee) = start(executes, option::KEEP | option::HOLD_EXECUTED);
        insert(&mut line, debuggee, site(), 0, None);
        victim.order(20);
        let before = loop {
            let found = line.event(|event| match event {
                Event::Executed { debuggee: of, before, .. } if of == debuggee => Some(before),
                _ => None,
            });
            if let Some(before) = found {
                break before;
            }
        };
        assert_ne!(before, 0);
        assert_eq!(count(&mut line, before, site()), 20);
        assert_eq!(count(&mut line, debuggee, site()), u64::MAX);
        assert_eq!(line.done(Command::Detach { debuggee: before }), Ok(()));
        let thread = victim.id().into();
        while !matches!(next(&mut line), Told::Held { .. }) {}
        assert_eq!(line.done(Command::Resume { thread }), Ok(()));
        while !matches!(next(&mut line), Told::Ended { .. }) {}
        assert_eq!(count(&mut line, debuggee, site()), u64::MAX);
    }

    a_process_is_killed_with_its_session_where_that_was_asked_for {
        let (mut victim, line, _) = start(forks, option::KILL);
        victim.ask(1);
        drop(line);
        assert_eq!(victim.end(), libc::SIGKILL);

        let (victim, mut line, debuggee) = start(forks, option::KILL);
        assert_eq!(line.done(Command::Detach { debuggee }), Ok(()));
        drop(line);
        assert_eq!(victim.end(), 0);

        // Its first thread may have ended before.
        let (mut victim, mut line, debuggee) = start(leaves, option::KILL);
        victim.order(1);
        let thread = victim.id().into();
        while next(&mut line) != (Told::ThreadEnded { debuggee, thread }) {}
        drop(line);
        assert_eq!(victim.end(), libc::SIGKILL);

        // A child that is held when the session ends is killed, too.
        let (mut victim, mut line, _) = start(forks, option::KILL | option::CHILDREN | option::HOLD_NEW);
        victim.order(1);
        assert!(matches!(next(&mut line), Told::Forked { .. }));
        drop(line);
        assert_eq!(victim.end(), libc::SIGKILL);
    }
}

/// A channel that a user opened, and the process that did.
fn opened_by(user: u32) -> (File, Shell) {
    let shell = Shell::start(&format!("7<>{DEVICE} cat"), user);
    let mut shell = shell;
    shell.say("go\nx\n");
    shell.answer();
    let id = shell.0.id() as libc::pid_t;
    // SAFETY: plain numbers; the descriptor is this process' own.
    let file = unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, id, 0) as i32;
        assert!(process >= 0, "{}", std::io::Error::last_os_error());
        let found = libc::syscall(libc::SYS_pidfd_getfd, process, 7, 0) as i32;
        libc::close(process);
        assert!(found >= 0, "{}", std::io::Error::last_os_error());
        File::from_raw_fd(found)
    };
    (file, shell)
}
