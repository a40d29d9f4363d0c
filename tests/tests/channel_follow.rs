//! The channel's rules by which processes are traced as soon as they execute a program: whom a user's rules concern, and how many there may be.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program};

use crossing::channel::{Channel, ask, open, stream};
use crossing::{channel_tests, in_turn};
use wire::commands::{Command, Reply, following, option};
use wire::events::Event;
use wire::{Failure, Split, Status, split};

/// A user without rights.
const NOBODY: u32 = 65534;

/// Follows the programs with such a path.
fn follow(file: &mut File, program: &Path) -> Result<u64, Failure> {
    follow_with(file, program, 0)
}

fn follow_with(file: &mut File, program: &Path, options: u64) -> Result<u64, Failure> {
    let program = program.to_str().expect("a path of this test").as_bytes();
    let (user, group, namespace) = (following::ANY_USER, following::ANY_GROUP, following::ANY_NAMESPACE);
    ask(file, Command::Follow { program, user, group, namespace, options }, |told| match told? {
        Reply::Follow { follow } => Ok(follow),
        other => panic!("{other:?}"),
    })
}

/// A copy of true(1) that no other test executes.
fn own(name: &str) -> PathBuf {
    own_copy(name, "/bin/true")
}

/// A copy of a program that no other test executes.
fn own_copy(name: &str, program: &str) -> PathBuf {
    let copy = std::env::temp_dir().join(format!("follow-{}-{name}", std::process::id()));
    // Another program writes it: this one forks, so that a child might have the copy open for writing.
    assert!(Program::new("cp").arg(program).arg(&copy).status().expect("cp is there").success());
    copy
}

/// A channel that a user opened. The thread's credentials alone change, and the thread ends.
fn opened_by(user: u32) -> Channel {
    let opened = std::thread::spawn(move || {
        // SAFETY: the call of the kernel takes numbers, and concerns this thread alone.
        assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) }, 0);
        open()
    });
    opened.join().expect("the device opens for everybody here")
}

fn start(program: &Path, user: u32) -> Child {
    in_turn(|| Program::new(program).uid(user).spawn()).expect("it starts")
}

fn run(program: &Path, user: u32) -> u64 {
    let mut child = start(program, user);
    let id = child.id();
    assert!(child.wait().expect("it ends").success());
    id.into()
}

/// The processes of the events `followed`, up to that of `last`.
fn followed(file: &mut File, last: u64) -> Vec<u64> {
    let (mut kept, mut all) = (Vec::new(), Vec::new());
    while !all.contains(&last) {
        let mut piece = [0; 4096];
        let count = file.read(&mut piece).expect("the file can be read");
        kept.extend(piece.get(..count).expect("what was read"));
        let mut rest = kept.as_slice();
        while let Split::Message(message, behind) = split(rest).expect("the kernel writes messages") {
            rest = behind;
            if let Ok(Event::Followed { process, debuggee, .. }) = Event::parse(&message) {
                assert_ne!(debuggee, 0);
                all.push(process);
            }
        }
        let left = rest.len();
        kept.drain(..kept.len() - left);
    }
    all
}

channel_tests! {
    an_ordinary_users_rules_name_that_users_processes_alone {
        let program = own("users");
        let mut file = opened_by(NOBODY);
        follow(&mut file, &program).unwrap();
        run(&program, 0);
        run(&program, 1000);
        let own = run(&program, NOBODY);
        assert_eq!(followed(&mut file, own), [own]);
    }

    the_rules_of_who_may_trace_everybody_name_everybodys_processes {
        let program = own("everybody");
        let mut file = open();
        follow(&mut file, &program).unwrap();
        let all = [run(&program, 0), run(&program, 1000), run(&program, NOBODY)];
        assert_eq!(followed(&mut file, all[2]), all);
    }

    a_user_has_a_bounded_number_of_rules_over_all_sessions_and_others_have_theirs {
        const USER: u32 = 4242;
        let program = own("bounded");
        let (mut one, mut two) = (opened_by(USER), opened_by(USER));
        let rules: Vec<u64> = (0..256).map(|at| follow(if at % 2 == 0 { &mut one } else { &mut two }, &program).unwrap()).collect();
        for file in [&mut one, &mut two] {
            assert_eq!(follow(file, &program), Err(Status::Limit.into()));
        }
        assert!(follow(&mut opened_by(USER + 1), &program).is_ok());
        assert!(follow(&mut open(), &program).is_ok());
        let unfollow = |file: &mut File, follow| ask(file, Command::Unfollow { follow }, |told| told.map(drop));
        assert_eq!(unfollow(&mut one, rules[1]), Err(Failure::new(Status::Value, 0)), "it is the other session's");
        assert_eq!(unfollow(&mut one, rules[0]), Ok(()));
        assert!(follow(&mut two, &program).is_ok());
        // A session's end ends its rules.
        drop(two);
        let again = (0..128).filter(|_| follow(&mut one, &program).is_ok()).count();
        assert_eq!(again, 128);
    }

    what_a_rule_is_made_of_is_checked {
        let mut file = open();
        let mut wrong = |program: &[u8], user, options| {
            let (group, namespace) = (following::ANY_GROUP, following::ANY_NAMESPACE);
            ask(&mut file, Command::Follow { program, user, group, namespace, options }, |told| told.map(drop))
        };
        assert_eq!(wrong(&[b'x'; 257], following::ANY_USER, 0), Err(Failure::new(Status::Value, 0)));
        assert_eq!(wrong(b"x", 1 << 32, 0), Err(Failure::new(Status::Value, 1)));
        assert_eq!(wrong(b"x", 0, 1 << 20), Err(Failure::new(Status::Value, 4)));
        assert_eq!(wrong(b"x", 0, option::ALL), Ok(()));
    }

    who_waits_for_itself_can_be_killed {
        let path = own("itself");
        let program = path.to_str().unwrap().as_bytes();
        let (user, group, namespace) = (following::ANY_USER, following::ANY_GROUP, following::ANY_NAMESPACE);
        let rule = Command::Follow { program, user, group, namespace, options: option::HOLD_EXECUTED };
        let rule = stream(&[(rule, 0)]);
        let mut holder = Program::new(&path);
        let prepare = move || {
            // SAFETY: the calls take a name and bytes that are there. The program inherits the descriptor, which nobody else has.
            unsafe {
                let file = libc::open(c"/dev/ntrace".as_ptr(), libc::O_RDWR);
                libc::write(file, rule.as_ptr().cast(), rule.len());
            }
            Ok(())
        };
        // SAFETY: the closure makes system calls alone.
        unsafe { holder.pre_exec(prepare) };
        let mut child = in_turn(|| holder.spawn()).unwrap();
        let is_held = |child: &Child| {
            let names = std::fs::read_dir(format!("/proc/{}/fdinfo", child.id())).unwrap().flatten();
            let texts = names.filter_map(|name| std::fs::read_to_string(name.path()).ok());
            // The reply, and the events of the program and of the held thread.
            let mut unread = texts.filter_map(|text| text.split("ntrace-unread:\t").nth(1)?.lines().next()?.parse().ok());
            unread.any(|bytes: u64| bytes >= 32 + 48 + 56)
        };
        while !is_held(&child) {
            std::thread::yield_now();
        }
        assert!(child.try_wait().unwrap().is_none(), "it is held");
        child.kill().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(libc::SIGKILL));
    }

    a_program_that_the_kernel_starts_for_itself_is_left_alone {
        let program = own_copy("helper", "/usr/bin/touch");
        let log = program.with_extension("ran");
        let mut file = open();
        follow_with(&mut file, &program, option::HOLD_EXECUTED).unwrap();
        // The kernel starts this program for a process that a signal has ended. Its parent is a thread of the kernel.
        let pattern = Path::new("/proc/sys/kernel/core_pattern");
        let before = std::fs::read(pattern).unwrap();
        std::fs::write(pattern, format!("|{} {}", program.display(), log.display())).unwrap();
        let mut victim = Program::new("sh");
        victim.args(["-c", "ulimit -c unlimited; kill -SEGV $$"]);
        in_turn(|| victim.spawn()).unwrap().wait().unwrap();
        std::fs::write(pattern, before).unwrap();
        while !log.exists() {
            std::thread::yield_now();
        }
    }
}
