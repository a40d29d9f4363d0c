//! What a hit of a breakpoint costs the program that comes to it: by the module, a uprobe, and ptrace, in the same run.

/// What `code` measures: names of instructions, and of the loops that begin with them.
macro_rules! loops {
    ($($name:literal $function:ident,)*) => {
        unsafe extern "C" {
            $(fn $function(hits: u64);)*
        }

        pub(crate) const LOOPS: &[super::Loop] =
            &[$(($name, |hits| super::time($function, hits), || $function as *const ()),)*];
    };
}

#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
mod code;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
mod code;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossing::channel::{ask, attach, open};
use crossing::debuggee::this_program;
use crossing::uprobe::uprobe;
use crossing::victim::Victim;
use ubp::{Address, Options, Pid, Session, Spec};
use wire::commands::{Command, Reply};
use wire::site::Site;

/// Name, what runs the loop, and where the instruction stands.
type Loop = (&'static str, fn(u64) -> u64, fn() -> *const ());

/// Hits of one measurement.
const HITS: u64 = 2000;

/// Calls a loop that comes to its first instruction so often; gives nanoseconds.
fn time(function: unsafe extern "C" fn(u64), hits: u64) -> u64 {
    let start = Instant::now();
    // SAFETY: the loops of `code` take a number that is not 0.
    unsafe { function(hits) };
    start.elapsed().as_nanos() as u64
}

/// What each measurement adds to a hit, in nanoseconds.
fn measure(work: fn(u64) -> u64, site: u64) -> [Option<f64>; 3] {
    let mut victim = Victim::start(work);
    let mut bare = || (victim.ask(HITS), victim.ask(HITS)).1;
    let plain = bare();
    let each = |time: u64| (time as f64 - plain as f64) / HITS as f64;

    let mut file = open();
    let debuggee = attach(&mut file, victim.id()).expect("it may be traced");
    let bytes = Site { address: site, actions: 0, stack: 0, condition: None }.bytes();
    ask(&mut file, Command::Insert { debuggee, sites: &bytes }, |told| {
        assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
    });
    let _ = victim.ask(HITS);
    let module = each(victim.ask(HITS));
    drop(file);

    let program = std::env::current_exe().expect("procfs");
    let event = uprobe(victim.id(), &program, site - this_program().base());
    let uprobe = event.ok().map(|_event| {
        let _ = victim.ask(HITS);
        each(victim.ask(HITS))
    });

    let traced = traced(&mut victim, site);
    [Some(module), uprobe, Some(each(traced))]
}

/// The time with a breakpoint by ptrace.
fn traced(victim: &mut Victim, site: u64) -> u64 {
    let pid = Pid(victim.id() as i32);
    let mut session = Session::with_options(Options::default()).expect("a session");
    session.attach(pid).expect("it may be traced");
    let spec = Spec::count(Address(site));
    for inserted in session.insert(pid, &[spec]).expect("it lives") {
        inserted.expect("it can carry one");
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| {
            let time = victim.ask(HITS);
            done.store(true, Ordering::Release);
            time
        });
        while !done.load(Ordering::Acquire) {
            session.poll().expect("it lives");
            std::thread::yield_now();
        }
        answer.join().expect("it answers")
    })
}

fn main() {
    println!("{:<24} {:>9} {:>9} {:>9} {:>10}", "a hit of", "module", "uprobe", "ptrace", "of uprobe");
    for (name, work, site) in code::LOOPS {
        let cost = measure(*work, site() as u64);
        let cells = cost.map(|cost| cost.map_or("-".to_owned(), |cost| format!("{cost:.0}")));
        let ratio = match cost {
            [Some(module), Some(uprobe), _] => format!("{:.2}", module / uprobe),
            _ => "-".to_owned(),
        };
        println!("{name:<24} {:>9} {:>9} {:>9} {ratio:>10}", cells[0], cells[1], cells[2]);
    }
}
