//! Measures what the module costs, in the same run as others. The argument chooses:
//!
//! - none: a hit of a breakpoint by the module, a uprobe, ptrace and a jump, a hit by what is done at it, and a system call of which a session is
//!   told, in instructions;
//! - `nanoseconds`: the same in time;
//! - `scaling`: hits of two processors at once;
//! - `bystanders`: forks, programs, signals, calls and hits of uprobes of a process that nobody traces;
//! - `trap`, on x86: the least that a trap costs, with the module of `tests/vm/floor`.

/// What `code` measures: names of instructions, and of the loops that begin with them.
macro_rules! loops {
    ($($name:literal $function:ident,)*) => {
        unsafe extern "C" {
            $(fn $function(hits: u64);)*
        }

        pub(crate) const LOOPS: &[super::Loop] =
            &[$(($name, |order| super::scaling::time($function, order), || $function as *const ()),)*];
    };
}

#[cfg(target_arch = "aarch64")]
#[path = "arm64.rs"]
mod code;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
mod code;

mod actions;
mod bystanders;
mod hit;
mod scaling;
mod syscalls;

use std::os::fd::OwnedFd;

use crossing::channel::{Channel, ask, attach, open};
use crossing::debuggee::this_program;
use crossing::uprobe::uprobe;
use crossing::victim::Victim;
use wire::commands::{Command, Reply};
use wire::site::{Memory, Site};

/// Name, what runs the loop, and where the instruction stands.
type Loop = (&'static str, fn(u64) -> u64, fn() -> *const ());

/// A process with a counting breakpoint of the module, as long as what is given lives.
fn probed(victim: &Victim, site: u64) -> Channel {
    let mut file = open();
    let debuggee = attach(&mut file, victim.id()).expect("it may be traced");
    let bytes = Site { address: site, actions: 0, memory: Memory::NONE, condition: None }.bytes();
    ask(&mut file, Command::Insert { debuggee, sites: &bytes }, |told| {
        assert_eq!(told, Ok(Reply::Insert { inserted: 1, failures: &[] }));
    });
    file
}

/// Sets a uprobe at the site; nothing if the kernel has no uprobes.
fn uprobed(victim: &Victim, site: u64) -> Option<OwnedFd> {
    let program = std::env::current_exe().expect("procfs");
    uprobe(victim.id(), &program, site - this_program().base()).ok()
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        // Counted, each run is as the other.
        None => {
            hit::table("instructions of a hit of", 1);
            actions::table("instructions of a hit that is", 1);
            syscalls::table("instructions of a system call", 1);
        }
        Some("nanoseconds") => {
            hit::table("nanoseconds of a hit of", 9);
            actions::table("nanoseconds of a hit that is", 9);
            syscalls::table("nanoseconds of a system call", 9);
        }
        Some("scaling") => scaling::table(),
        Some("bystanders") => {
            let mut arguments = std::env::args().skip(2);
            let (state, file) = (arguments.next().expect("a state"), arguments.next().expect("a file"));
            match state.as_str() {
                "hold" => bystanders::hold(false),
                "follow" => bystanders::hold(true),
                "print" => bystanders::print(file.as_ref()),
                _ => bystanders::measure(&state, file.as_ref()),
            }
        }
        #[cfg(target_arch = "x86_64")]
        Some("trap") => hit::trap(),
        Some(other) => panic!("{other}: no such measurement"),
    }
}
