//! What a process pays that nobody traces: forks, programs, signals, system calls and hits of uprobes, with the module absent, loaded, and busy
//! with other processes.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command as Program, Stdio};

use crossing::channel::{ask, open};
use crossing::victim::Victim;
use ubp::{Follow, Mechanism, Options, Pid, Session, Syscalls};
use wire::commands::{Command, following};

use crate::code::LOOPS;
use crate::{probed, uprobed};

/// When the same is measured: without the module, with it, while sessions trace another process, and while root follows programs.
const STATES: [&str; 4] = ["absent", "loaded", "busy", "followed"];
/// A copy of true(1) in memory: no disk is waited for.
const PROGRAM: &std::ffi::CStr = c"/dev/shm/ntrace-true";
/// Another user.
const STRANGER: u32 = 4242;
/// Rules of that user: as many as one may have.
const RULES: usize = following::MOST_RULES;

/// Its name, how often it is done, and what does it.
type Work = (&'static str, u64, fn(u64));

/// The measurements.
const WORK: [Work; 4] = [
    ("fork, exit and wait", 50, forks),
    ("a program: true(1)", 20, programs),
    ("a signal", 2000, signals),
    ("a system call", 2000, calls),
];
const UPROBE: &str = "a hit of a uprobe";
/// Each is measured so often, and the best counts.
const TIMES: usize = 5;

fn forks(count: u64) {
    for _ in 0..count {
        // SAFETY: the child ends at once, and is waited for.
        unsafe {
            match libc::fork() {
                0 => libc::_exit(0),
                child => assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child),
            }
        }
    }
}

fn programs(count: u64) {
    for _ in 0..count {
        let arguments = [PROGRAM.as_ptr(), std::ptr::null()];
        let mut status = 0;
        let mut child = 0;
        // SAFETY: name and arguments are there, and there is room for the results. The child is waited for.
        unsafe {
            let (none, nothing) = (std::ptr::null(), std::ptr::null());
            let arguments = arguments.as_ptr().cast();
            assert_eq!(libc::posix_spawn(&mut child, PROGRAM.as_ptr(), none, nothing, arguments, std::ptr::null()), 0);
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
        }
        assert_eq!(status, 0);
    }
}

extern "C" fn on_signal(_: i32) {}

fn signals(count: u64) {
    // SAFETY: the handler does nothing.
    unsafe {
        libc::signal(libc::SIGUSR1, on_signal as extern "C" fn(i32) as usize);
        for _ in 0..count {
            libc::raise(libc::SIGUSR1);
        }
    }
}

fn calls(count: u64) {
    for _ in 0..count {
        // SAFETY: getppid takes nothing and changes nothing.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

/// The processor time of this process and of its children that have ended, in nanoseconds. A wait for a disk takes none.
fn processor_time() -> u64 {
    let nanoseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    // SAFETY: zeroes are values of both structures, and there is room for the answers.
    unsafe {
        let (mut own, mut children): (libc::timespec, libc::rusage) = std::mem::zeroed();
        assert_eq!(libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut own), 0);
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut children), 0);
        let own = own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64;
        own + nanoseconds(children.ru_utime) + nanoseconds(children.ru_stime)
    }
}

/// The best time of each, in nanoseconds for one.
fn times() -> Vec<f64> {
    std::fs::copy("/bin/true", PROGRAM.to_str().expect("ASCII")).expect("room in memory");
    let best = |work: &dyn Fn() -> u64| (0..=TIMES).map(|_| work()).skip(1).min().unwrap_or(0);
    let mut all: Vec<f64> = WORK
        .iter()
        .map(|(_, count, work)| {
            let time = best(&|| {
                let begin = processor_time();
                work(*count);
                processor_time() - begin
            });
            time as f64 / *count as f64
        })
        .collect();
    const HITS: u64 = 2000;
    let (_, work, site) = LOOPS[0];
    let victim = std::cell::RefCell::new(Victim::start(work));
    let plain = best(&|| victim.borrow_mut().ask(HITS));
    let uprobe = uprobed(&victim.borrow(), site() as u64).expect("a uprobe");
    all.push((best(&|| victim.borrow_mut().ask(HITS)) as f64 - plain as f64) / HITS as f64);
    drop(uprobe);
    all
}

/// Sessions that trace another process in every way, and a stranger who follows all programs that he may, until standard input ends.
pub(crate) fn hold(root_follows: bool) {
    let (_, work, site) = LOOPS[0];
    let victim = Victim::start(work);
    let _counting = probed(&victim, site() as u64);
    let mut options = Options::default();
    (options.syscalls, options.told_only) = (Syscalls::ALL, true);
    let mut session = Session::open(Mechanism::Kernel, options).expect("the module is loaded");
    session.attach(Pid(victim.id() as i32)).expect("it may be traced");
    let stranger = std::thread::spawn(|| {
        // SAFETY: the call of the kernel takes numbers, and concerns this thread alone.
        assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, STRANGER, STRANGER, STRANGER) }, 0);
        open()
    });
    let mut stranger = stranger.join().expect("everybody may open the device here");
    // No program that is measured is compared with these rules.
    (0..RULES).for_each(|_| follow(&mut stranger));
    if root_follows {
        session.follow(&Follow::new().program("/nowhere/at/all")).expect("root may");
    }
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("a pipe");
}

fn follow(file: &mut File) {
    let (user, group, namespace) = (following::ANY_USER, following::ANY_GROUP, following::ANY_NAMESPACE);
    let command = Command::Follow { program: b"*", user, group, namespace, options: 0 };
    ask(file, command, |told| assert!(told.is_ok(), "{told:?}"));
}

/// Measures in a state and adds the figures to a file.
pub(crate) fn measure(state: &str, file: &Path) {
    let mut holder = match state {
        "busy" => Some(holder("hold")),
        "followed" => Some(holder("follow")),
        _ => None,
    };
    let mut line = String::new();
    times().iter().for_each(|time| write!(line, "{time} ").expect("memory"));
    let mut all = OpenOptions::new().append(true).create(true).open(file).expect("a file");
    writeln!(all, "{line}").expect("room");
    if let Some(holder) = &mut holder {
        drop(holder.stdin.take());
        assert!(holder.wait().expect("it ends").success());
    }
}

/// Another process of this program, which is ready.
fn holder(what: &str) -> Child {
    let mut holder = Program::new(std::env::current_exe().expect("procfs"));
    holder.args(["bystanders", what, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = holder.spawn().expect("it starts");
    let mut ready = String::new();
    BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut ready).expect("it is ready");
    assert_eq!(ready, "ready\n");
    holder
}

/// Prints the figures of all states.
pub(crate) fn print(file: &Path) {
    let text = std::fs::read_to_string(file).expect("it was written");
    let row = |line: &str| line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let rows: Vec<Vec<f64>> = text.lines().map(row).collect();
    assert_eq!(rows.len(), STATES.len());
    print!("{:<24}", "instructions of");
    STATES.iter().for_each(|state| print!(" {state:>10}"));
    println!();
    for (at, name) in WORK.iter().map(|(name, ..)| *name).chain([UPROBE]).enumerate() {
        let before = rows[0][at];
        print!("{name:<24} {before:>10.0}");
        rows.iter().skip(1).for_each(|row| print!(" {:>9.3}x", row[at] / before));
        println!();
    }
}
